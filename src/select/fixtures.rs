//! Reading the independently computed fixtures, for tests.

use serde_json::Value;

/// tests/fixtures/answer.json.
pub fn answer() -> Value {
    serde_json::from_str(include_str!("../../tests/fixtures/answer.json")).unwrap()
}

/// A list of numbers.
pub fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// A list of counts.
pub fn whole(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

/// A list of lists of numbers.
pub fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().unwrap().iter().map(floats).collect()
}
