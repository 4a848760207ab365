//! The program as its users meet it: real files, real processes.

mod background;
mod baselines;
mod commands;
mod demo;
mod golden;
mod interrupt;
mod lab;
mod outliers;
mod refusals;
mod shadows;
mod streamed;
mod threads;
