/** The names of methods in a comparison. */

/** The last part of a run's path, with the folder of the sweep where the run is one of its seeds. */
export const ofRun = (run: string): string => {
  const parts = run.split(/[\\/]/).filter((part) => part !== "")
  return parts.slice(parts.at(-1)?.startsWith("seed-") === true ? -2 : -1).join("/") || run
}

/** The runs of a method, which differ in their seeds alone. */
export const of = (runs: ReadonlyArray<string>): string =>
  runs.length === 1 ? ofRun(runs[0] ?? "") : `${runs.map(ofRun).join(", ")} (${runs.length} seeds)`
