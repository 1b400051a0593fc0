//! Comma-separated values: bytes in, cells with their place out.

use std::str::FromStr;

/// A place in a file and what is wrong there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct CsvError {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong, and what would be right.
    pub message: String,
}

/// A file that has been read: a header, and rows of as many cells.
#[derive(Debug)]
pub struct Table<'a> {
    header: Vec<&'a str>,
    rows: Vec<Row<'a>>,
}

/// A row.
#[derive(Debug)]
pub struct Row<'a> {
    line: usize,
    text: &'a str,
    cells: Vec<&'a str>,
}

/// A cell with its place.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    line: usize,
    column: usize,
    /// What stands in it.
    pub text: &'a str,
}

/// More rows than any trace we know has by a factor of ten; a longer file is more likely a mistake than a workload.
const ROWS_MAX: usize = 2_000_000;

impl<'a> Table<'a> {
    /// Reads a file whose header has these columns, in any order and perhaps among others.
    pub fn parse(bytes: &'a [u8], columns: &[&str]) -> Result<Self, CsvError> {
        let text = std::str::from_utf8(bytes).map_err(|error| not_text(bytes, error.valid_up_to()))?;
        let mut lines = (1..).zip(text.lines());
        let Some((_, first)) = lines.next() else {
            return Err(CsvError { line: 1, column: 1, message: "the file is empty".into() });
        };
        let header: Vec<&str> = first.trim_start_matches('\u{feff}').split(',').map(str::trim).collect();
        if let Some(missing) = columns.iter().find(|column| !header.contains(column)) {
            let message = format!("no column `{missing}`; the columns are {}", header.join(", "));
            return Err(CsvError { line: 1, column: 1, message });
        }
        let mut rows = Vec::new();
        for (line, text) in lines.filter(|(_, text)| !text.trim().is_empty()) {
            rows.push(Row::parse(line, text, header.len())?);
            if rows.len() > ROWS_MAX {
                return Err(CsvError { line, column: 1, message: format!("more than {ROWS_MAX} rows") });
            }
        }
        Ok(Self { header, rows })
    }

    /// Where a column stands, if there is one.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|column| *column == name)
    }

    /// The rows.
    pub fn rows(&self) -> &[Row<'a>] {
        &self.rows
    }
}

fn not_text(bytes: &[u8], at: usize) -> CsvError {
    let before = &bytes[..at];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let column = at - before.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1) + 1;
    CsvError { line, column, message: "not UTF-8 text".into() }
}

impl<'a> Row<'a> {
    fn parse(line: usize, text: &'a str, width: usize) -> Result<Self, CsvError> {
        if let Some(at) = text.find('"') {
            let column = text[..at].chars().count() + 1;
            return Err(CsvError { line, column, message: "quoted cells are not read".into() });
        }
        let cells: Vec<&str> = text.split(',').collect();
        if cells.len() != width {
            let message = format!("{} cells, but the header has {width}", cells.len());
            return Err(CsvError { line, column: text.chars().count() + 1, message });
        }
        Ok(Self { line, text, cells })
    }

    /// The cell in a column.
    pub fn cell(&self, column: usize) -> Cell<'a> {
        let cell = self.cells[column];
        let before: usize = self.cells[..column].iter().map(|cell| cell.len() + 1).sum();
        Cell { line: self.line, column: self.text[..before].chars().count() + 1, text: cell.trim() }
    }
}

impl Cell<'_> {
    /// The cell as a number from `least` to `most`.
    pub fn number<T>(&self, least: T, most: T) -> Result<T, CsvError>
    where
        T: FromStr + PartialOrd + std::fmt::Display + Copy,
    {
        let number = self.text.parse::<T>().ok().filter(|number| (least..=most).contains(number));
        number.ok_or_else(|| self.refuse(format!("`{}` is not a number from {least} to {most}", self.text)))
    }

    /// The cell as a number, or none where it is empty.
    pub fn number_or_none<T>(&self, least: T, most: T) -> Result<Option<T>, CsvError>
    where
        T: FromStr + PartialOrd + std::fmt::Display + Copy,
    {
        if self.text.is_empty() { Ok(None) } else { self.number(least, most).map(Some) }
    }

    /// The cell as a text that is not empty.
    pub fn name(&self) -> Result<&str, CsvError> {
        if self.text.is_empty() { Err(self.refuse("a name is missing".into())) } else { Ok(self.text) }
    }

    /// An error at this cell.
    pub fn refuse(&self, message: String) -> CsvError {
        CsvError { line: self.line, column: self.column, message: message.chars().take(300).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &[u8]) -> String {
        let told = Table::parse(text, &["name", "cpu"]).and_then(|table| {
            let cpu = table.column("cpu").expect("asked for");
            table.rows().iter().map(|row| row.cell(cpu).number::<i64>(0, 100)).collect::<Result<Vec<_>, _>>()
        });
        told.expect_err("it is bad").to_string()
    }

    #[test]
    fn says_where_it_is_wrong() {
        assert_eq!(error(b""), "line 1, column 1: the file is empty");
        assert_eq!(error(b"name,mem\n"), "line 1, column 1: no column `cpu`; the columns are name, mem");
        assert_eq!(error(b"name,cpu\na,1\nb,-1\n"), "line 3, column 3: `-1` is not a number from 0 to 100");
        assert_eq!(error(b"name,cpu\na,1,2\n"), "line 2, column 6: 3 cells, but the header has 2");
        assert_eq!(error(b"name,cpu\n\"a\",1\n"), "line 2, column 1: quoted cells are not read");
        assert_eq!(error(b"name,cpu\na,\xff\n"), "line 2, column 3: not UTF-8 text");
        assert_eq!(error(b"name,cpu\na,NaN\n"), "line 2, column 3: `NaN` is not a number from 0 to 100");
    }

    #[test]
    fn columns_may_stand_in_any_order_and_ends_of_line_be_of_any_kind() {
        let table = Table::parse(b"\xef\xbb\xbfcpu,x,name\r\n7,,a\r\n\r\n", &["name", "cpu"]).expect("good");
        let row = &table.rows()[0];
        assert_eq!(row.cell(table.column("cpu").unwrap()).number(0, 9), Ok(7));
        assert_eq!(row.cell(table.column("name").unwrap()).text, "a");
        assert_eq!(row.cell(table.column("x").unwrap()).number_or_none(0, 9), Ok(None));
    }
}
