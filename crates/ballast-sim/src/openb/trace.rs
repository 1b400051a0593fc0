//! The files of the trace: CSV in, nodes and pods out.

use crate::import::{Cell, CsvError, Table};
use crate::placement::Need;

/// A node of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// CPU in thousandths of a core.
    pub cpu: i64,
    /// Memory in bytes.
    pub memory: i64,
    /// GPU devices.
    pub gpus: u8,
    /// GPU model; empty where it has none.
    pub model: String,
}

/// A pod of the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// Its name.
    pub name: String,
    /// What it needs.
    pub need: Need,
    /// GPU models that do, as the trace writes them: `V100M16|V100M32`, empty for any.
    pub models: String,
    /// Class of service; empty where the list has no such column.
    pub qos: String,
    /// When it came, in seconds from the start of the trace.
    pub created: Option<i64>,
    /// When it went.
    pub deleted: Option<i64>,
}

/// Nodes and pods, with the GPU models numbered as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The nodes.
    pub nodes: Vec<Node>,
    /// The pods.
    pub pods: Vec<Pod>,
    /// The GPU models in order of appearance; the bit of a model is its place here.
    pub models: Vec<String>,
}

const MIB: i64 = 1 << 20;
/// A machine with more than a million cores or a million gibibytes is a typing error.
const CPU_MAX: i64 = 1_000_000_000;
const MEMORY_MIB_MAX: i64 = 1 << 30;
/// One bit a model.
const MODELS_MAX: usize = 64;
/// The trace covers five months; a thousand years is a typing error.
const SECONDS_MAX: i64 = 31_536_000_000;

impl Trace {
    /// Reads a node list and a pod list.
    pub fn parse(nodes: &[u8], pods: &[u8]) -> Result<Self, TraceError> {
        let mut trace = Self { nodes: Vec::new(), pods: Vec::new(), models: Vec::new() };
        trace.read_nodes(nodes).map_err(TraceError::Nodes)?;
        trace.read_pods(pods).map_err(TraceError::Pods)?;
        Ok(trace)
    }

    /// The bit of a GPU model.
    pub fn model_bit(&self, model: &str) -> u64 {
        self.models.iter().position(|known| known == model).map_or(0, |at| 1 << at)
    }

    fn read_nodes(&mut self, bytes: &[u8]) -> Result<(), CsvError> {
        let columns = ["sn", "cpu_milli", "memory_mib", "gpu", "model"];
        let table = Table::parse(bytes, &columns)?;
        let [name, cpu, memory, gpu, model] = columns.map(|column| table.column(column).unwrap_or(0));
        for row in table.rows() {
            let model = row.cell(model);
            if !model.text.is_empty() {
                self.intern(model)?;
            }
            self.nodes.push(Node {
                name: row.cell(name).name()?.to_owned(),
                cpu: row.cell(cpu).number(0, CPU_MAX)?,
                memory: row.cell(memory).number(0, MEMORY_MIB_MAX)? * MIB,
                gpus: row.cell(gpu).number(0, 16)?,
                model: model.text.to_owned(),
            });
        }
        Ok(())
    }

    fn intern(&mut self, model: Cell<'_>) -> Result<(), CsvError> {
        if self.models.iter().any(|known| known == model.text) {
            return Ok(());
        }
        if self.models.len() == MODELS_MAX {
            return Err(model.refuse(format!("more than {MODELS_MAX} GPU models")));
        }
        self.models.push(model.text.to_owned());
        Ok(())
    }

    fn read_pods(&mut self, bytes: &[u8]) -> Result<(), CsvError> {
        let columns = ["name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli"];
        let table = Table::parse(bytes, &columns)?;
        let [name, cpu, memory, gpus, milli] = columns.map(|column| table.column(column).unwrap_or(0));
        let [spec, qos, created, deleted] =
            ["gpu_spec", "qos", "creation_time", "deletion_time"].map(|column| table.column(column));
        for row in table.rows() {
            let seconds = |column: Option<usize>| match column {
                Some(column) => row.cell(column).number_or_none(0, SECONDS_MAX),
                None => Ok(None),
            };
            let text = |column: Option<usize>| column.map_or("", |column| row.cell(column).text);
            let gpus = row.cell(gpus).number(0, 16)?;
            let gpu_milli = if gpus == 0 { 0 } else { row.cell(milli).number(1, 1000)? };
            if gpus > 1 && gpu_milli < 1000 {
                return Err(row.cell(milli).refuse("a share of several GPUs is not read".into()));
            }
            let models = text(spec);
            let bits = models.split('|').filter(|model| !model.is_empty()).map(|model| self.model_bit(model));
            let need = Need {
                cpu: row.cell(cpu).number(0, CPU_MAX)?,
                memory: row.cell(memory).number(0, MEMORY_MIB_MAX)? * MIB,
                gpus,
                gpu_milli,
                models: bits.fold(0, |all, bit| all | bit),
            };
            self.pods.push(Pod {
                name: row.cell(name).name()?.to_owned(),
                need,
                models: models.to_owned(),
                qos: text(qos).to_owned(),
                created: seconds(created)?,
                deleted: seconds(deleted)?,
            });
        }
        Ok(())
    }
}

/// What is wrong with the files of a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// In the list of nodes.
    #[error("cannot read the list of nodes")]
    Nodes(#[source] CsvError),
    /// In the list of pods.
    #[error("cannot read the list of pods")]
    Pods(#[source] CsvError),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error;

    const NODES: &[u8] = b"sn,cpu_milli,memory_mib,gpu,model\nn0,32000,1024,2,T4\nn1,32000,1024,0,\n";

    #[test]
    fn reads_nodes_and_pods() {
        let pods = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time\n\
            p0,1000,10,1,460,T4|V100,LS,5,\np1,1000,10,0,0,,BE,0,9\n";
        let trace = Trace::parse(NODES, pods).expect("good files");
        assert_eq!(trace.nodes[0].gpus, 2);
        assert_eq!(
            trace.pods[0].need,
            Need { cpu: 1000, memory: 10 << 20, gpus: 1, gpu_milli: 460, models: 1 }
        );
        assert_eq!((trace.pods[0].created, trace.pods[0].deleted), (Some(5), None));
        assert_eq!(trace.pods[1].need.gpus, 0);
    }

    #[test]
    fn a_bad_cell_is_named_with_its_file_line_and_column() {
        let pods = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli\np0,1000,10,1,4600\n";
        let error = Trace::parse(NODES, pods).expect_err("a share above one GPU");
        assert_eq!(error.to_string(), "cannot read the list of pods");
        let source = error.source().expect("the place").to_string();
        assert_eq!(source, "line 2, column 14: `4600` is not a number from 1 to 1000");
    }
}
