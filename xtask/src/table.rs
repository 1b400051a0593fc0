//! A plain text table: columns padded to their widest cell, numbers to the right.

/// Lays out rows under a header; a cell that looks like a number is aligned to the right.
pub(crate) fn layout(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut widths: Vec<usize> = header.iter().map(|cell| cell.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let head: Vec<String> = header.iter().map(|&cell| cell.to_owned()).collect();
    let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
    let mut text = String::new();
    for row in [&head, &rule].into_iter().chain(rows) {
        text.push_str(&line(row, &widths));
        text.push('\n');
    }
    text
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<String> = row
        .iter()
        .zip(widths)
        .map(|(cell, &width)| match cell.parse::<f64>() {
            Ok(_) => format!("{cell:>width$}"),
            Err(_) => format!("{cell:<width$}"),
        })
        .collect();
    cells.join("  ").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pads_to_the_widest_cell() {
        let rows = vec![vec!["unit".to_owned(), "7".to_owned()], vec!["sim".to_owned(), "120".to_owned()]];
        let text = layout(&["suite", "tests"], &rows);
        assert_eq!(text, "suite  tests\n-----  -----\nunit       7\nsim      120\n");
    }
}
