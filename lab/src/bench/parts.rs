//! A table of where the time of some work goes.

use std::fmt::Write as _;

use serde_json::Value;

/// Returns the milliseconds and shares of the parts, as a Markdown table; where multiplications are
/// known, also their number per second.
pub(super) fn table(title: &str, parts: &Value) -> String {
    let rows: Vec<(&str, f64, Option<f64>)> = parts
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|row| {
            let products = row["products"].as_f64();
            Some((
                row["part"].as_str()?,
                row["milliseconds"].as_f64()?,
                products,
            ))
        })
        .collect();
    let total: f64 = rows.iter().map(|(_, ms, _)| ms).sum();
    let products: Option<f64> = rows.iter().map(|(.., products)| *products).sum();
    let (head, line) = match products {
        Some(_) => (" thousand million multiply-adds per second |", "--:|"),
        None => ("", ""),
    };
    let mut table = format!("| {title} | milliseconds | share |{head}\n|---|--:|--:|{line}\n");
    for (part, ms, products) in rows.into_iter().chain([("all", total, products)]) {
        let _ = write!(table, "| {part} | {ms:.2} | {:.1} % |", 100.0 * ms / total);
        if let Some(products) = products {
            let _ = write!(table, " {:.1} |", products / ms / 1e6);
        }
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn parts_have_shares_and_a_sum() {
        let table = table(
            "part",
            &json!([
                { "part": "forward", "milliseconds": 30.0 },
                { "part": "backward", "milliseconds": 90.0 },
            ]),
        );
        assert!(table.contains("| backward | 90.00 | 75.0 % |\n"), "{table}");
        assert!(table.ends_with("| all | 120.00 | 100.0 % |\n"), "{table}");
    }

    #[test]
    fn multiplications_become_a_rate() {
        let parts = json!([{ "part": "stem", "milliseconds": 2.0, "products": 10_000_000 }]);
        let table = table("part", &parts);
        assert!(table.contains("| stem | 2.00 | 100.0 % | 5.0 |"), "{table}");
    }
}
