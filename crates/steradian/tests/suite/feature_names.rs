//! Names of features in models: stored with the model, compared with those of other data.

use std::ops::Range;

use crate::common::{TestRandom, fit, message_of, source};
use steradian::data::{Block, Shape};
use steradian::{Config, Error, Matrix, Method, Model, Result, SliceSource, Source};

/// A source whose features have names.
struct NamedSource<'a> {
    rows: SliceSource<'a, f64>,
    names: Vec<&'static str>,
}

impl Source for NamedSource<'_> {
    fn shape(&self) -> &Shape {
        self.rows.shape()
    }

    fn feature_name(&self, feature: usize) -> Option<String> {
        self.names.get(feature).map(ToString::to_string)
    }

    fn visit(&self, rows: Range<usize>, visit: &mut dyn FnMut(Block<'_>) -> Result<()>) -> Result<()> {
        self.rows.visit(rows, visit)
    }
}

fn named<'a>(x: &'a Matrix, names: [&'static str; 3]) -> NamedSource<'a> {
    NamedSource { rows: source(x), names: names.to_vec() }
}

#[test]
fn a_model_keeps_the_names_of_the_features() {
    let x = TestRandom::new(3).samples(60, 3, 1);
    for method in [Method::Robust, Method::Angular, Method::Pca] {
        let config = Config::new(method, 1);
        let model = fit(&config, &named(&x, ["a", "b", "c"]), 1).unwrap();
        let read = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
        assert_eq!(read.feature_names.as_deref().unwrap(), ["a", "b", "c"]);
        assert_eq!(read, model);
        let without = fit(&config, &source(&x), 1).unwrap();
        assert_eq!(without.feature_names, None);
        assert_eq!(without, Model { feature_names: None, ..model });
    }
}

#[test]
fn other_names_are_rejected() {
    let x = TestRandom::new(3).samples(60, 3, 1);
    let model = fit(&Config::new(Method::Pca, 1), &named(&x, ["a", "b", "c"]), 1).unwrap();
    model.check_features(&named(&x, ["a", "b", "c"])).unwrap();
    model.check_features(&source(&x)).unwrap();
    let error = model.check_features(&named(&x, ["a", "c", "b"])).expect_err("columns in another order");
    assert!(matches!(error, Error::InvalidArgument { .. }), "{error:?}");
    assert!(message_of(&error).contains("feature 1 of the data is \"c\" but that of the model is \"b\""), "{error}");
    let narrow = TestRandom::new(3).samples(9, 2, 1);
    assert!(matches!(model.check_features(&source(&narrow)), Err(Error::FeatureCount { expected: 3, found: 2 })));
}

#[test]
fn a_file_with_another_number_of_names_is_rejected() {
    let x = TestRandom::new(3).samples(60, 3, 1);
    let mut model = fit(&Config::new(Method::Pca, 1), &source(&x), 1).unwrap();
    model.feature_names = Some(vec!["a".to_owned()]);
    let error = Model::from_bytes(&model.to_bytes().unwrap()).expect_err("one name for three features");
    assert!(message_of(&error).contains("1 names for 3 features"), "{error}");
}
