//! The program as its users meet it: real files, real processes.

mod background;
mod baselines;
mod checkpoint;
mod commands;
mod demo;
mod golden;
mod guide;
mod interrupt;
mod lab;
mod outliers;
mod refusals;
mod shadows;
mod streamed;
mod threads;
