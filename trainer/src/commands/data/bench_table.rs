//! The table that `trainer data bench` prints.

use espalier_data::tools::bench::BenchReport;
use indicatif::HumanCount;

use crate::memory::MIB;

/// Returns the table of a measurement.
pub(super) fn bench_table(report: &BenchReport) -> String {
    let mut lines = vec![format!(
        "{:<18}{:>14}{:>22}",
        "one core", "microseconds", "images per second"
    )];
    let row = |name: &str, microseconds: f64, rate: f64| {
        let rate = HumanCount(rate.round() as u64).to_string();
        format!("{name:<18}{microseconds:>14.1}{rate:>22}")
    };
    for stage in &report.stages {
        let name = match stage.stage {
            "crop" => format!("crop to {} px", report.image_size),
            "box" => "crop a box".to_owned(),
            name => name.to_owned(),
        };
        lines.push(row(&name, stage.microseconds, stage.images_per_second));
    }
    lines.push(row("in sum", 1e6 / report.one_core, report.one_core));
    lines.push(row(
        &format!("{} threads", report.workers),
        1e6 / report.all_workers,
        report.all_workers,
    ));
    lines.push(format!(
        "{} records, {} broken; {} bytes read per image",
        HumanCount(report.records),
        HumanCount(report.broken),
        HumanCount(report.bytes_read.round() as u64)
    ));
    if report.bytes_fetched > 0.0 {
        lines.push(format!(
            "{} bytes per image from object storage, {:.1} MiB per second",
            HumanCount(report.bytes_fetched.round() as u64),
            report.fetched_per_second / MIB
        ));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use espalier_data::tools::bench::Stage;

    use super::*;

    #[test]
    fn every_stage_and_the_sum_have_a_row() {
        let stage = |stage, microseconds| Stage {
            stage,
            microseconds,
            images_per_second: 1e6 / microseconds,
        };
        let mut report = BenchReport {
            records: 2000,
            broken: 1,
            image_size: 224,
            boxes: true,
            stages: vec![
                stage("read", 10.0),
                stage("decode", 80.0),
                stage("box", 110.0),
            ],
            one_core: 5000.0,
            workers: 2,
            all_workers: 9000.0,
            bytes_read: 1150.4,
            bytes_fetched: 0.0,
            fetched_per_second: 0.0,
        };
        let text = bench_table(&report);
        let rows = text.lines().map(|l| l.split_whitespace().collect());
        let rows: Vec<Vec<&str>> = rows.collect();
        assert_eq!(rows[1], ["read", "10.0", "100,000"]);
        assert_eq!(rows[3], ["crop", "a", "box", "110.0", "9,091"]);
        assert_eq!(rows[4], ["in", "sum", "200.0", "5,000"]);
        assert_eq!(rows[5], ["2", "threads", "111.1", "9,000"]);
        assert!(text.ends_with("2,000 records, 1 broken; 1,150 bytes read per image"));
        report.bytes_fetched = 1024.0;
        report.fetched_per_second = 2.5 * MIB;
        assert!(
            bench_table(&report)
                .ends_with("1,024 bytes per image from object storage, 2.5 MiB per second")
        );
    }
}
