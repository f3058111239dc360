//! Reading the independently computed fixtures, for tests.

use serde_json::Value;

pub fn answer() -> Value {
    serde_json::from_str(include_str!("../../tests/fixtures/answer.json")).unwrap()
}

pub fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

pub fn whole(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

pub fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(floats).collect()
}
