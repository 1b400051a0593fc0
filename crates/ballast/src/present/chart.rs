//! Charts over time as SVG: step lines or stacked areas, a time axis, gaps, and each line's name at its end.
//!
//! Positions are percentages and the plot is stretched, so text keeps its size on a phone and on a wall. Colours are
//! classes (`s0`, `s1`, …) that a style sheet fills with variables: nothing here is fixed to light or dark, and no style
//! attribute needs a hole in a content security policy.
//!
//! Every SVG element is closed (`line {}`): maud's `line;` would leave it open, and a browser would put all that follows
//! inside it without a word.

use ballast_core::units::{Span, Time};
use maud::{Markup, html};

use super::figures;

/// How values are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A step line each.
    Lines,
    /// Areas on top of each other; their sum is the outline.
    Stacked,
}

/// Values over time under one title.
#[derive(Clone, Debug)]
pub struct Chart<'a> {
    /// What it shows.
    pub title: &'a str,
    /// What stands behind each value, such as ` nodes` or ` %`.
    pub unit: &'a str,
    /// How values are drawn.
    pub form: Form,
    /// When each value begins to hold; it holds until the next.
    pub times: &'a [Time],
    /// What is drawn; each has a value (or a gap) for every time.
    pub series: Vec<Series<'a>>,
}

/// One line or area.
#[derive(Clone, Debug)]
pub struct Series<'a> {
    /// Its name, shown at its end.
    pub name: &'a str,
    /// Its class, which gives it colour and pattern.
    pub class: &'a str,
    /// Its values; none is a gap.
    pub values: Vec<Option<f64>>,
}

/// Units of the plot's own coordinates: fine enough that rounding is never seen.
const WIDE: f64 = 1000.0;
/// More hover targets than this could not be hit with a mouse.
const HITS_MAX: usize = 120;
/// Labels at line ends keep this distance, in percent of the height.
const LABEL_DISTANCE: f64 = 10.0;

impl Chart<'_> {
    /// The figure.
    pub fn render(&self) -> Markup {
        let scale = Scale::over(self);
        html! {
            figure class="chart" {
                figcaption {
                    span class="chart-title" { (self.title) }
                    span class="readout" aria-hidden="true" { (self.last_words()) }
                }
                @if self.times.len() < 2 {
                    p class="empty" { "Not enough seen yet" }
                } @else {
                    svg class="axes" role="img" aria-label=(self.spoken()) {
                        (scale.grid())
                        (scale.clock())
                        svg class="plot" width="100%" height="100%" viewBox="0 0 1000 1000" preserveAspectRatio="none" {
                            @for (shape, series) in scale.shapes(self).iter().zip(&self.series) {
                                @if let Some(area) = &shape.area { path class={ "area " (series.class) } d=(area) {} }
                                path class={ "line " (series.class) } d=(shape.line) {}
                            }
                        }
                        (scale.ends(self))
                        (scale.hits(self))
                    }
                }
            }
        }
    }

    /// The last values in words, for those who hear the page and under the title of those who see it.
    fn last_words(&self) -> String {
        let parts = self.series.iter().filter_map(|series| {
            let value = (*series.values.last()?)?;
            Some(format!("{} {}{}", series.name, figures::number(value), self.unit))
        });
        parts.collect::<Vec<_>>().join(" · ")
    }

    fn spoken(&self) -> String {
        let words = self.last_words();
        if words.is_empty() { self.title.to_owned() } else { format!("{}; at the end: {words}", self.title) }
    }

    /// Values of one series with those below it added, where they are stacked.
    fn levels(&self, upto: usize) -> Vec<Option<f64>> {
        let first = if self.form == Form::Stacked { 0 } else { upto };
        let at = |time: usize| {
            let held =
                self.series[first..=upto].iter().map(|series| series.values.get(time).copied().flatten());
            held.reduce(|sum, value| Some(sum? + value?)).flatten()
        };
        (0..self.times.len()).map(at).collect()
    }
}

/// From times and values to places.
struct Scale {
    from: Time,
    to: Time,
    top: f64,
    step: f64,
}

/// What is drawn for a series.
struct Shape {
    line: String,
    area: Option<String>,
}

impl Scale {
    fn over(chart: &Chart<'_>) -> Self {
        let last = chart.series.len().saturating_sub(1);
        let all = if chart.form == Form::Stacked { last } else { 0 };
        let values = (all..=last).filter(|_| !chart.series.is_empty()).flat_map(|upto| chart.levels(upto));
        let highest = values.flatten().fold(0.0, f64::max);
        let (top, step) = nice_top(highest);
        let from = chart.times.first().copied().unwrap_or_default();
        let to = chart.times.last().copied().unwrap_or_default();
        Self { from, to, top, step }
    }

    /// From 0 to 1000, from left to right.
    fn x(&self, time: Time) -> f64 {
        let whole = self.to.since(self.from).as_millis().max(1) as f64;
        time.since(self.from).as_millis() as f64 / whole * WIDE
    }

    /// From 0 (top) to 1000 (bottom).
    fn y(&self, value: f64) -> f64 {
        (1.0 - value / self.top) * WIDE
    }

    fn grid(&self) -> Markup {
        let lines = (0..=5).map(|n| f64::from(n) * self.step).filter(|value| *value <= self.top * 1.001);
        html! {
            g class="rules" aria-hidden="true" {
                @for value in lines {
                    @let y = percent(self.y(value));
                    line x1="0" x2="100%" y1=(y) y2=(y) {}
                    text x="0" dx="-8" y=(y) dy="0.32em" text-anchor="end" { (figures::number(value)) }
                }
            }
        }
    }

    fn clock(&self) -> Markup {
        html! {
            g class="clock" aria-hidden="true" {
                @for (time, label) in time_ticks(self.from, self.to) {
                    @let x = percent(self.x(time));
                    line x1=(x) x2=(x) y1="100%" y2="100%" class="tick" {}
                    text x=(x) y="100%" dy="1.5em" text-anchor="middle" { (label) }
                }
            }
        }
    }

    fn shapes(&self, chart: &Chart<'_>) -> Vec<Shape> {
        let mut below: Option<Vec<Option<f64>>> = None;
        let shape = |upto: usize| {
            let levels = chart.levels(upto);
            let line = self.line(chart.times, &outline(chart, upto, &levels));
            let area =
                (chart.form == Form::Stacked).then(|| self.area(chart.times, &levels, below.as_deref()));
            below = Some(levels);
            Shape { line, area }
        };
        (0..chart.series.len()).map(shape).collect()
    }

    /// A step line: each value holds until the next time; a gap lifts the pen.
    fn line(&self, times: &[Time], values: &[Option<f64>]) -> String {
        let mut path = Path::default();
        let mut down = false;
        for (time, value) in times.iter().zip(values) {
            let x = self.x(*time);
            match value {
                Some(value) if down => path.step(x, self.y(*value)),
                Some(value) => path.lift(x, self.y(*value)),
                None if down => path.hold(x),
                None => {}
            }
            down = value.is_some();
        }
        path.0
    }

    /// The area between two step lines.
    fn area(&self, times: &[Time], values: &[Option<f64>], below: Option<&[Option<f64>]>) -> String {
        let floor = |at: usize| below.and_then(|below| below[at]).unwrap_or(0.0);
        let mut path = Path::default();
        let mut start = 0;
        while start < times.len() {
            let Some(first) = values[start] else {
                start += 1;
                continue;
            };
            let end = (start..times.len()).find(|&at| values[at].is_none()).unwrap_or(times.len());
            let last = end.min(times.len() - 1);
            path.lift(self.x(times[start]), self.y(first));
            for at in start + 1..end {
                path.step(self.x(times[at]), self.y(values[at].unwrap_or(0.0)));
            }
            path.hold(self.x(times[last]));
            path.rise(self.y(floor(end - 1)));
            for at in (start..end).rev() {
                path.rise(self.y(floor(at)));
                path.hold(self.x(times[at]));
            }
            path.0.push('Z');
            start = end;
        }
        path.0
    }

    /// The name and last value of each line at its right end, moved apart where they would overlap.
    fn ends(&self, chart: &Chart<'_>) -> Markup {
        let mut ends: Vec<(f64, &Series<'_>, f64)> = Vec::new();
        for (upto, series) in chart.series.iter().enumerate() {
            let level = chart.levels(upto).last().copied().flatten();
            let value = series.values.last().copied().flatten();
            if let (Some(level), Some(value)) = (level, value) {
                let middle = if chart.form == Form::Stacked { level - value / 2.0 } else { level };
                if value > 0.0 || chart.form == Form::Lines {
                    ends.push((self.y(middle) / WIDE * 100.0, series, value));
                }
            }
        }
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        move_apart(&mut ends);
        html! {
            g class="ends" aria-hidden="true" {
                @for (y, series, value) in &ends {
                    text class=(series.class) x="100%" dx="8" y={ (round(*y)) "%" } dy="0.32em" {
                        (figures::number(*value)) " " (series.name)
                    }
                }
            }
        }
    }

    /// Invisible columns that say what was then.
    fn hits(&self, chart: &Chart<'_>) -> Markup {
        let stride = chart.times.len().div_ceil(HITS_MAX).max(1);
        let columns = (0..chart.times.len()).step_by(stride).map(|at| {
            let next = chart.times.get(at + stride).copied().unwrap_or(self.to);
            let (left, right) = (self.x(chart.times[at]), self.x(next));
            (percent(left), percent(right - left), self.told(chart, at))
        });
        html! {
            g class="hits" aria-hidden="true" {
                @for (x, width, told) in columns {
                    rect class="hit" x=(x) y="0" width=(width) height="100%" data-told=(told) { title { (told) } }
                }
            }
        }
    }

    fn told(&self, chart: &Chart<'_>, at: usize) -> String {
        let of_days = is_of_days(self.from, self.to);
        let mut told =
            if of_days { figures::moment(chart.times[at]) } else { figures::clock(chart.times[at]) };
        for series in &chart.series {
            if let Some(value) = series.values.get(at).copied().flatten() {
                told.push_str(&format!(" · {} {}{}", series.name, figures::number(value), chart.unit));
            }
        }
        told
    }
}

/// What is drawn as the line of a series: of a stacked one that is nothing now, no line on top of the one below.
fn outline(chart: &Chart<'_>, upto: usize, levels: &[Option<f64>]) -> Vec<Option<f64>> {
    if chart.form == Form::Lines {
        return levels.to_vec();
    }
    let own = &chart.series[upto].values;
    let drawn =
        |(at, level): (usize, &Option<f64>)| level.filter(|_| own.get(at).copied().flatten() != Some(0.0));
    levels.iter().enumerate().map(drawn).collect()
}

/// The text of an SVG path.
#[derive(Default)]
struct Path(String);

impl Path {
    fn lift(&mut self, x: f64, y: f64) {
        self.0.push_str(&format!("M{} {}", round(x), round(y)));
    }
    fn step(&mut self, x: f64, y: f64) {
        self.hold(x);
        self.rise(y);
    }
    fn hold(&mut self, x: f64) {
        self.0.push_str(&format!("H{}", round(x)));
    }
    fn rise(&mut self, y: f64) {
        self.0.push_str(&format!("V{}", round(y)));
    }
}

fn round(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn percent(thousandths: f64) -> String {
    format!("{}%", (thousandths * 10.0).round() / 100.0)
}

/// Pushes labels down until none overlaps, then up again where they ran out at the bottom.
fn move_apart<T, U>(ends: &mut [(f64, T, U)]) {
    for at in 1..ends.len() {
        ends[at].0 = ends[at].0.max(ends[at - 1].0 + LABEL_DISTANCE);
    }
    let mut limit = 100.0;
    for end in ends.iter_mut().rev() {
        end.0 = end.0.min(limit);
        limit = end.0 - LABEL_DISTANCE;
    }
}

/// The end of the axis and the step of its marks: a round number of at most five steps.
fn nice_top(highest: f64) -> (f64, f64) {
    if !(highest.is_finite() && highest > 0.0) {
        return (1.0, 1.0);
    }
    let rough = highest / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|n| n * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(10.0 * power);
    ((highest / step).ceil() * step, step)
}

/// Steps of a time axis, in seconds.
const TIME_STEPS: [i64; 22] = [
    1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
    604_800, 2_592_000, 7_776_000,
];
/// As many marks as stay apart on a narrow screen.
const TIME_TICKS_MAX: i64 = 4;

/// Whether a time of day alone would not tell which day it is of.
fn is_of_days(from: Time, to: Time) -> bool {
    to.since(from) > Span::from_hours(24)
}

/// Round times between two instants, with their labels: the time of day, or the day where steps are days.
fn time_ticks(from: Time, to: Time) -> Vec<(Time, String)> {
    let whole = to.since(from).as_millis() / 1000;
    let step = TIME_STEPS.into_iter().find(|step| whole / step <= TIME_TICKS_MAX);
    let step = Span::from_secs(step.unwrap_or(31_536_000));
    let first = from.as_millis().div_euclid(step.as_millis()) * step.as_millis();
    let label = |time: Time| match step.as_millis() {
        0..60_000 => figures::clock(time),
        60_000..86_400_000 if is_of_days(from, to) => figures::moment(time),
        60_000..86_400_000 => figures::clock(time)[..5].to_owned(),
        _ => figures::day(time)[5..].to_owned(),
    };
    let ticks = (0..=TIME_TICKS_MAX + 1).map(|n| Time::from_millis(first) + step.times(n));
    ticks.filter(|time| *time >= from && *time <= to).map(|time| (time, label(time))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(seconds: &[i64]) -> Vec<Time> {
        seconds.iter().map(|s| Time::from_secs(*s)).collect()
    }

    fn chart<'a>(form: Form, times: &'a [Time], values: &[&[Option<f64>]]) -> Chart<'a> {
        let classes = ["s0", "s1", "s2"];
        let series = values.iter().zip(classes);
        let series = series.map(|(values, class)| Series { name: class, class, values: values.to_vec() });
        Chart { title: "Nodes", unit: "", form, times, series: series.collect() }
    }

    #[test]
    fn a_value_holds_until_the_next_and_a_gap_lifts_the_pen() {
        let times = times(&[0, 10, 20, 30, 40]);
        let values = [Some(1.0), Some(2.0), None, Some(4.0), Some(4.0)];
        let chart = chart(Form::Lines, &times, &[&values]);
        let scale = Scale::over(&chart);
        assert_eq!(scale.line(&times, &values), "M0 750H250V500H500M750 0H1000V0");
    }

    #[test]
    fn areas_stand_on_each_other() {
        let times = times(&[0, 10]);
        let chart = chart(Form::Stacked, &times, &[&[Some(1.0), Some(1.0)], &[Some(3.0), Some(1.0)]]);
        let shapes = Scale::over(&chart).shapes(&chart);
        assert_eq!(shapes[0].area.as_deref(), Some("M0 750H1000V750H1000V1000V1000H1000V1000H0Z"));
        assert_eq!(shapes[1].line, "M0 0H1000V500");
    }

    #[test]
    fn axes_are_round() {
        for (highest, top, step) in [(0.0, 1.0, 1.0), (7.0, 8.0, 2.0), (97.0, 100.0, 25.0), (0.3, 0.3, 0.1)] {
            let seen = nice_top(highest);
            assert!((seen.0 - top).abs() < 1e-9 && (seen.1 - step).abs() < 1e-9, "{highest}: {seen:?}");
        }
        let labels = |from, to| -> Vec<String> {
            time_ticks(Time::from_secs(from), Time::from_secs(to)).into_iter().map(|tick| tick.1).collect()
        };
        assert_eq!(labels(0, 3600), ["00:00", "00:15", "00:30", "00:45", "01:00"]);
        assert_eq!(labels(5, 25), ["00:00:05", "00:00:10", "00:00:15", "00:00:20", "00:00:25"]);
        assert_eq!(labels(0, 30 * 3600), ["01-01 00:00", "01-01 12:00", "01-02 00:00"]);
        assert_eq!(labels(0, 3 * 86_400), ["01-01", "01-02", "01-03", "01-04"]);
        assert_eq!(labels(0, 30 * 86_400), ["01-01", "01-08", "01-15", "01-22", "01-29"]);
    }

    #[test]
    fn labels_at_the_ends_do_not_overlap() {
        let mut ends = [(50.0, (), ()), (51.0, (), ()), (99.0, (), ()), (99.5, (), ())];
        move_apart(&mut ends);
        for pair in ends.windows(2) {
            assert!(pair[1].0 - pair[0].0 >= LABEL_DISTANCE - 1e-9);
        }
        assert!(ends[3].0 <= 100.0);
    }

    #[test]
    fn every_element_is_closed_and_names_are_escaped() {
        let times = times(&[0, 10, 20]);
        let mut chart = chart(Form::Stacked, &times, &[&[Some(1.0), None, Some(2.0)]]);
        chart.series[0].name = "<script>";
        let html = chart.render().into_string();
        for name in ["line", "path", "rect", "text", "svg", "g"] {
            let opened = html.matches(&format!("<{name} ")).count();
            assert_eq!(opened, html.matches(&format!("</{name}>")).count(), "{name}");
        }
        assert!(!html.contains("<script>") && html.contains("&lt;script&gt;"));
        assert!(!html.contains("style="));
    }

    #[test]
    fn one_point_is_no_line() {
        let times = times(&[5]);
        let html = chart(Form::Lines, &times, &[&[Some(1.0)]]).render().into_string();
        assert!(html.contains("Not enough seen yet"));
        assert!(chart(Form::Lines, &[], &[]).render().into_string().contains("Nodes"));
    }
}
