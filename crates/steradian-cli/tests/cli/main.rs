//! The program as its users meet it: real files, real processes.

mod commands;
mod demo;
mod golden;
mod interrupt;
mod lab;
mod refusals;
mod threads;
