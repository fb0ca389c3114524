//! What made the model say so: a map over the photo that is bright where a caption is seen.

use std::rc::Rc;

use espalier_core::caption::{HeatMap, shown_rungs};
use leptos::html::Canvas;
use leptos::prelude::*;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlCanvasElement;

use crate::messages::query::{PhotoId, Query, QueryAnswer};
use crate::photo::context;
use crate::state::heat::where_hot;
use crate::ui_error::UiError;
use crate::words::told;
use crate::workspace::{Workspace, use_workspace};

/// Darkness of places that do not matter, in `[0, 1]`.
const SHADE: f32 = 0.78;

/// The map of a caption.
type Answer = Result<Rc<HeatMap>, UiError>;

/// What is shown over the photo; cheap to copy.
#[derive(Clone, Copy, Default)]
pub struct Heat {
    /// Whether a map is shown.
    is_on: RwSignal<bool>,
    /// The caption or phrase that the visitor chose; `None` for the caption that is shown first.
    chosen: RwSignal<Option<String>>,
    /// The shown caption's map; `None` while it is computed.
    answer: RwSignal<Option<Answer>, LocalStorage>,
    /// Number of places that the engine has examined for the map, and of all.
    progress: RwSignal<Option<(u64, u64)>>,
}

/// The texts that a map can be shown for: a photo's captions, and names of the other things that it shows. The default
/// is the most specific caption that the evidence supports.
#[derive(Clone, PartialEq)]
struct Captions {
    photo: PhotoId,
    texts: Vec<String>,
    default: String,
}

impl Captions {
    fn of(workspace: Workspace) -> Option<Self> {
        let answer = workspace.answer()?;
        let result = &answer.result;
        let (ladder, taxonomy) = (&result.ladder, &result.taxonomy);
        let shown = shown_rungs(ladder, taxonomy);
        let at_stop = |text: &&String| {
            let node = shown.iter().find(|rung| rung.text == **text);
            node.and_then(|rung| rung.node.as_deref()) == Some(taxonomy.stop.as_str())
        };
        let mut texts: Vec<String> = shown.iter().map(|rung| rung.text.clone()).collect();
        let default = told(result)
            .map(|rung| &rung.text)
            .or_else(|| texts.iter().find(at_stop))
            .or(texts.last())?
            .clone();
        for shown in &result.shows {
            if !texts.contains(&shown.text) {
                texts.push(shown.text.clone());
            }
        }
        Some(Self {
            photo: answer.photo,
            texts,
            default,
        })
    }
}

impl Heat {
    /// Hides the map.
    pub fn close(self) {
        self.is_on.set(false);
    }

    /// Shows where a phrase is seen.
    pub fn show(self, phrase: &str) {
        self.chosen.set(Some(phrase.to_owned()));
        self.is_on.set(true);
    }

    /// Returns the caption or phrase whose map is shown.
    fn caption(self, captions: &Captions) -> String {
        self.chosen
            .get()
            .unwrap_or_else(|| captions.default.clone())
    }

    /// Returns all that a map can be shown for.
    fn options(self, captions: &Captions) -> Vec<String> {
        let phrase = self.chosen.get();
        let phrase = phrase.filter(|phrase| !captions.texts.contains(phrase));
        captions.texts.iter().cloned().chain(phrase).collect()
    }

    /// Asks for the map of a caption. Answers to questions that are no longer asked are discarded.
    fn ask(self, workspace: Workspace, captions: &Captions, caption: String) {
        let controller = workspace.controller;
        let Some(photo) = controller.photo.get_untracked() else {
            return;
        };
        self.answer.set(None);
        self.progress.set(None);
        let (id, asked) = (captions.photo, captions.clone());
        spawn_local(async move {
            let query = Query::Heat {
                photo: id,
                caption: caption.clone(),
            };
            let answer = controller.ask(query, Some(&photo.file), Some(self.progress));
            let answer = answer.await;
            let is_current = untrack(|| {
                Captions::of(workspace).is_some_and(|now| {
                    now.photo == asked.photo && self.is_on.get() && self.caption(&now) == caption
                })
            });
            if is_current {
                self.answer.set(Some(answer.and_then(map_of)));
            }
        });
    }
}

fn map_of(answer: QueryAnswer) -> Answer {
    match answer {
        QueryAnswer::Heat { map } => Ok(Rc::new(map)),
        _ => Err(UiError::other_answer()),
    }
}

/// The button that shows and hides the map.
#[component]
pub fn HeatButton(
    /// Called before the map is shown.
    #[prop(into)]
    on_open: Callback<()>,
) -> impl IntoView {
    let workspace = use_workspace();
    let heat = expect_context::<Heat>();
    let captions = Memo::new(move |_| Captions::of(workspace));
    // The map belongs to one photo.
    workspace.controller.on_new_photo(move || {
        heat.close();
        heat.chosen.set(None);
    });
    let shown = Memo::new(move |_| {
        let captions = captions.get().filter(|_| heat.is_on.get())?;
        let caption = heat.caption(&captions);
        Some((captions, caption))
    });
    Effect::new(move |_| {
        if let Some((captions, caption)) = shown.get() {
            heat.ask(workspace, &captions, caption);
        }
    });
    let switch = move |_| {
        if heat.is_on.get_untracked() {
            heat.close();
        } else {
            on_open.run(());
            heat.is_on.set(true);
        }
    };
    view! {
        <Show when=move || captions.with(Option::is_some)>
            <button
                class="button is-quiet"
                type="button"
                aria-pressed=move || heat.is_on.get().to_string()
                data-testid="heat-button"
                on:click=switch
            >
                {move || if heat.is_on.get() { "Hide what it looked at" } else { "Show what it looked at" }}
            </button>
        </Show>
    }
}

/// The choice of a caption, and its map in words.
#[component]
pub fn HeatPanel() -> impl IntoView {
    let workspace = use_workspace();
    let heat = expect_context::<Heat>();
    let captions = Memo::new(move |_| Captions::of(workspace).filter(|_| heat.is_on.get()));
    move || {
        captions.get().map(|captions| {
            let rows = {
                let captions = captions.clone();
                move || {
                    let options = heat.options(&captions).into_iter();
                    options
                        .map(|text| option(heat, &captions, text))
                        .collect_view()
                }
            };
            let words = move || in_words(heat, &captions);
            view! {
                <section class="heat-panel" aria-label="What it looked at" data-testid="heat-panel">
                    <fieldset class="heat-options">
                        <legend>"Where does it see …"</legend>
                        {rows}
                    </fieldset>
                    <p role="status" data-testid="heat-words">{words}</p>
                    <p class="note">
                        "Bright places matter most: without them, the model would be less sure."
                    </p>
                </section>
            }
        })
    }
}

/// One caption to choose.
fn option(heat: Heat, captions: &Captions, text: String) -> impl IntoView + use<> {
    let captions = captions.clone();
    let is_shown = {
        let text = text.clone();
        move || heat.caption(&captions) == text
    };
    let choose = {
        let text = text.clone();
        move |_| heat.chosen.set(Some(text.clone()))
    };
    view! {
        <label class="heat-option">
            <input
                class="visually-hidden"
                type="radio"
                name="heat-caption"
                data-testid="heat-option"
                prop:checked=is_shown
                on:change=choose
            />
            <span>{text}</span>
        </label>
    }
}

/// Describes the map.
fn in_words(heat: Heat, captions: &Captions) -> String {
    let caption = heat.caption(captions);
    match heat.answer.get() {
        None => match heat.progress.get() {
            None | Some((_, 0)) => "Looking…".to_owned(),
            Some((done, all)) => format!("Looking… {done} of {all} places are done."),
        },
        Some(Err(error)) => format!("{} {}", error.what, error.todo),
        Some(Ok(map)) => match where_hot(&map) {
            Some(place) => format!("It sees {caption} mostly {place}."),
            None => format!("No single place makes it say {caption}."),
        },
    }
}

/// The map over the photo. The part of the photo outside of the map is not read and stays dark.
#[component]
pub fn HeatOverlay() -> impl IntoView {
    let heat = expect_context::<Heat>();
    let canvas = NodeRef::<Canvas>::new();
    let map = move || {
        heat.answer
            .get()
            .and_then(Result::ok)
            .filter(|_| heat.is_on.get())
    };
    Effect::new(move |_| {
        if let (Some(canvas), Some(map)) = (canvas.get(), map()) {
            paint(&canvas, &map);
        }
    });
    // Left, top, width and height of the canvas: the map with one dark cell around it.
    let frame = Memo::new(move |_| {
        let Some(map) = map() else {
            return [0.0; 4];
        };
        let [left, top, right, bottom] = map.area;
        let (width, height) = (right - left, bottom - top);
        let (x, y) = (width / map.columns as f32, height / map.rows as f32);
        [left - x, top - y, width + 2.0 * x, height + 2.0 * y]
    });
    let share = move |index: usize| format!("{:.3}%", frame.get()[index] * 100.0);
    view! {
        <Show when=move || map().is_some()>
            <div class="heat-sheet" aria-hidden="true">
                <canvas
                    class="heat-map"
                    node_ref=canvas
                    data-testid="heat-map"
                    style:left=move || share(0)
                    style:top=move || share(1)
                    style:width=move || share(2)
                    style:height=move || share(3)
                ></canvas>
            </div>
        </Show>
    }
}

/// Paints one pixel for each place, and one around them so that the map fades out at its edges. The
/// browser smooths between them.
fn paint(canvas: &HtmlCanvasElement, map: &HeatMap) {
    let size = |cells: usize| u32::try_from(cells + 2).unwrap_or(1);
    canvas.set_width(size(map.columns));
    canvas.set_height(size(map.rows));
    let Some(pen) = context(canvas) else { return };
    let dim = |x: f64, y: f64, width: f64, height: f64, shade: f32| {
        pen.set_fill_style_str(&format!("rgb(20 16 12 / {shade:.3})"));
        pen.fill_rect(x, y, width, height);
    };
    let (columns, rows) = (map.columns as f64, map.rows as f64);
    dim(0.0, 0.0, columns + 2.0, 1.0, SHADE);
    dim(0.0, rows + 1.0, columns + 2.0, 1.0, SHADE);
    dim(0.0, 1.0, 1.0, rows, SHADE);
    dim(columns + 1.0, 1.0, 1.0, rows, SHADE);
    for (index, value) in map.values.iter().enumerate() {
        let (x, y) = (index % map.columns.max(1), index / map.columns.max(1));
        // The root makes places of middling heat visible.
        let shade = SHADE * (1.0 - value.clamp(0.0, 1.0).sqrt());
        dim(x as f64 + 1.0, y as f64 + 1.0, 1.0, 1.0, shade);
    }
}
