//! Repairs links that rustdoc itself adds to its pages; rustdoc checks only the links in our comments.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::built::html_files;

/// Traits of Burn that the comments of derived functions link to as if they were in every module.
const BURN: [&str; 2] = ["ModuleMapper", "ModuleVisitor"];

/// Address of the documentation of Burn's traits.
const BURN_DOCS: &str = "https://docs.rs/burn/latest/burn/module";

/// Begins the name of a script with the implementations of a trait in other packages. rustdoc names it for
/// each trait and writes it only if there are some.
const IMPLEMENTATIONS: &str = "trait.impl/";

/// Completes the links of a folder with the pages of `packages`: those to Burn's traits, scripts that are
/// named but not there, and a first page.
///
/// # Errors
/// Fails if a page cannot be read or written.
pub fn complete(folder: &Path, packages: &[&str]) -> Result<()> {
    for path in html_files(folder)? {
        let place = || path.display().to_string();
        let before = fs::read_to_string(&path).with_context(place)?;
        let page = path.parent().unwrap_or(folder);
        let after = without_missing_scripts(with_burn(before.clone()), page);
        if after != before {
            fs::write(&path, after).with_context(place)?;
        }
    }
    let index = folder.join("index.html");
    fs::write(&index, first_page(packages)).with_context(|| index.display().to_string())
}

fn with_burn(html: String) -> String {
    BURN.iter().fold(html, |html, name| {
        let link = format!("href=\"{BURN_DOCS}/trait.{name}.html\"");
        html.replace(&format!("href=\"{name}\""), &link)
    })
}

/// Removes the elements of scripts with implementations whose file is missing; `page` is the folder of
/// the page.
fn without_missing_scripts(html: String, page: &Path) -> String {
    const BEGIN: &str = "<script src=\"";
    const END: &str = "</script>";
    let mut out = String::with_capacity(html.len());
    let mut rest = html.as_str();
    while let Some((before, from)) = rest.split_once(BEGIN) {
        let (source, _) = from.split_once('"').unwrap_or((from, ""));
        let (element, after) = from.split_once(END).unwrap_or((from, ""));
        out.push_str(before);
        if !source.contains(IMPLEMENTATIONS) || page.join(source).is_file() {
            out.extend([BEGIN, element, END]);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Returns the page that the logo and the settings of rustdoc lead to.
fn first_page(packages: &[&str]) -> String {
    let link = |package: &&str| {
        let folder = package.replace('-', "_");
        format!("<li><a href=\"{folder}/index.html\">{package}</a></li>\n")
    };
    let links: String = packages.iter().map(link).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>The packages of Espalier</title>\n\
         </head>\n<body>\n<h1>The packages of Espalier</h1>\n<ul>\n{links}</ul>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_rustdoc_leaves_open_lead_somewhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir_all(path("one_package/trait.impl")).unwrap();
        fs::write(path("one_package/trait.impl/there.js"), "").unwrap();
        let there = "<script src=\"trait.impl/there.js\" async></script>";
        let gone = "<script src=\"trait.impl/gone.js\" async></script>";
        let other = "<script src=\"main.js\"></script>";
        let html = format!("<a href=\"ModuleMapper\">m</a>{gone}{there}{other}<p>");
        fs::write(path("one_package/index.html"), html).unwrap();
        complete(folder.path(), &["one-package"]).unwrap();
        assert_eq!(
            fs::read_to_string(path("one_package/index.html")).unwrap(),
            format!("<a href=\"{BURN_DOCS}/trait.ModuleMapper.html\">m</a>{there}{other}<p>")
        );
        let index = fs::read_to_string(path("index.html")).unwrap();
        assert!(
            index.contains("<a href=\"one_package/index.html\">one-package</a>"),
            "{index}"
        );
    }
}
