//! Plain tables: columns by spaces, heads in capitals, numbers to the right. What kubectl users expect.

use ballast_core::foreign::plain;

/// Rows under heads.
#[derive(Clone, Debug, Default)]
pub struct Table {
    heads: Vec<String>,
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

/// Between two columns.
const GAP: &str = "   ";

impl Table {
    /// A table with these heads; those that begin with `>` are over numbers, which stand to the right.
    pub fn new(heads: &[&str]) -> Self {
        let right = heads.iter().map(|head| head.starts_with('>')).collect();
        let heads = heads.iter().map(|head| head.trim_start_matches('>').to_owned()).collect();
        Self { heads, right, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.push(cells.to_vec());
    }

    /// Adds a row of any length.
    pub fn push(&mut self, cells: Vec<String>) {
        self.rows.push(cells.iter().map(|cell| plain(cell).into_owned()).collect());
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The heads, each with whether its column stands to the right.
    pub fn heads(&self) -> impl Iterator<Item = (&str, bool)> {
        self.heads.iter().map(String::as_str).zip(self.right.iter().copied())
    }

    /// The rows, each cell with whether it stands to the right.
    pub fn rows(&self) -> impl Iterator<Item = impl Iterator<Item = (&str, bool)>> {
        self.rows.iter().map(|row| row.iter().map(String::as_str).zip(self.right.iter().copied()))
    }

    /// The text, with a line end after each row.
    pub fn render(&self) -> String {
        let all = || std::iter::once(&self.heads).chain(&self.rows);
        let columns = all().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|at| all().filter_map(|row| row.get(at)).map(|cell| width(cell)).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        for row in all() {
            let mut line = String::new();
            for (at, cell) in row.iter().enumerate() {
                let room = " ".repeat(widths[at].saturating_sub(width(cell)));
                let is_right = self.right.get(at).copied().unwrap_or(false);
                line.push_str(if at > 0 { GAP } else { "" });
                line.push_str(&if is_right { room + cell } else { format!("{cell}{room}") });
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Columns of a terminal that a text takes; near enough for names, numbers and our own words.
fn width(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_nothing_trails() {
        let mut table = Table::new(&["NAME", ">NODES", "WHY"]);
        table.row(["a".to_owned(), "7".to_owned(), String::new()]);
        table.row(["longer".to_owned(), "1200".to_owned(), "because".to_owned()]);
        assert_eq!(table.render(), "NAME     NODES   WHY\na            7\nlonger    1200   because\n");
    }
}
