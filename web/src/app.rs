//! The page: creates the controller and mounts the components into the surrounding HTML.

use leptos::mount::mount_to;
use leptos::portal::Portal;
use leptos::prelude::*;
use wasm_bindgen::JsCast as _;
use web_sys::HtmlElement;

use crate::components::{
    Folder, Heat, Live, LookAlikesView, Outcome, PhotoDrop, SelectedPart, Status, StoragePanel,
    Subjects, WorkspaceView, follow_photos, mark_body, samples,
};
use crate::controller::AppController;
use crate::load::DEFAULT_MODEL;
use crate::load::bundle::folder;
use crate::state::link::Link;
use crate::taught::Taught;
use crate::workspace::Workspace;

/// Mounts the page in the element `app` of the HTML shell.
pub fn start() {
    std::panic::set_hook(Box::new(|panic| {
        // The page itself has failed. The HTML contains the text for this case.
        leptos::logging::error!("{panic}");
        show_crash();
    }));
    let mount = document()
        .get_element_by_id("app")
        .and_then(|element| element.dyn_into::<HtmlElement>().ok());
    let Some(mount) = mount else { return };
    let address = document().base_uri().ok().flatten().unwrap_or_default();
    let base = folder(&address).to_owned();
    let query = window().location().search().unwrap_or_default();
    // The placeholder has the same size, so the layout does not shift.
    mount.set_inner_html("");
    mount_to(mount, move || view! { <App base query /> }).forget();
}

fn show_crash() {
    if let Some(note) = document().get_element_by_id("crash") {
        let _ = note.remove_attribute("hidden");
    }
}

/// The dynamic part of the page.
#[component]
fn App(
    /// Address of the page's folder.
    base: String,
    /// Query part of the page's address.
    query: String,
) -> impl IntoView {
    let link = Link::from_query(&query);
    let model = link.models.first().cloned();
    let model = model.unwrap_or_else(|| DEFAULT_MODEL.to_owned());
    let controller = AppController::new(base, model, link.backend);
    let sample = link.sample.clone();
    let workspace = Workspace::new(controller, link);
    provide_context(workspace);
    provide_context(Folder::new(workspace));
    let live = Live::default();
    provide_context(live);
    provide_context(SelectedPart::default());
    provide_context(Heat::default());
    provide_context(Subjects::new(workspace));
    provide_context(Taught::new(workspace));
    // The surrounding HTML makes room for the answer once there is a photo.
    Effect::new(move |_| {
        let is_given = controller.session.with(|session| session.work.is_some());
        mark_body("data-given", is_given);
    });
    follow_photos(controller);
    // The answer to an earlier photo is hidden while the camera runs.
    Effect::new(move |_| mark_body("data-live", live.is_on.get()));
    let foot = document().get_element_by_id("kept");
    if let Some(sample) = sample {
        samples::read(controller, sample);
    }
    view! {
        <PhotoDrop />
        <Outcome />
        <LookAlikesView />
        <WorkspaceView />
        <Status />
        {foot.map(|mount| view! { <Portal mount><StoragePanel controller /></Portal> })}
    }
}
