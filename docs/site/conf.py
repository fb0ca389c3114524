#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = [
#   "furo==2025.12.19",
#   "myst-parser==5.2.0",
#   "sphinx>=9.0.4,<9.1",
#   "sphinx-copybutton==0.5.2",
# ]
# ///
"""Settings of the documentation's site, and the program that builds it.

`cargo xtask docs` writes the source of the site, puts this file beside it and runs it with the
arguments of `sphinx-build`. Sphinx with MyST reads Markdown as GitHub does, its pages link to each
other with relative addresses, and the theme loads nothing from another host.
"""

import os
import sys

project = "Espalier"
copyright = "the authors of Espalier"
version = release = os.environ.get("ESPALIER_VERSION", "")

extensions = ["myst_parser", "sphinx_copybutton"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 4
exclude_patterns = ["site"]
root_doc = "index"
nitpicky = True

# For `cargo xtask docs --external`. The page on the reader's own machine is no other host.
linkcheck_ignore = [r"http://127\.0\.0\.1"]
linkcheck_anchors = False
linkcheck_timeout = 30

html_theme = "furo"
html_title = "Espalier"
html_favicon = "site/icon.svg"
html_logo = "site/icon.svg"
html_static_path = ["site/static"]
html_css_files = ["espalier.css"]
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
# What a reader copies: commands and sources, not what commands print.
copybutton_selector = ", ".join(f"div.highlight-{lang} pre" for lang in ["sh", "html", "css", "js", "toml"])

html_theme_options = {
    "navigation_with_keys": True,
    # The sources of generated pages are in no repository.
    "top_of_page_buttons": [],
}

if __name__ == "__main__":
    from sphinx.cmd.build import main

    raise SystemExit(main(sys.argv[1:]))
