/** Names of methods in a comparison. */

/** The last part of a run's path, with the sweep's folder if the run is one of its seeds. */
export const ofRun = (run: string): string => {
  const parts = run.split(/[\\/]/).filter((part) => part !== "")
  return parts.slice(parts.at(-1)?.startsWith("seed-") === true ? -2 : -1).join("/") || run
}

/** The name of a method's runs, which differ only in their seeds. */
export const of = (runs: ReadonlyArray<string>): string =>
  runs.length === 1 ? ofRun(runs[0] ?? "") : `${runs.map(ofRun).join(", ")} (${runs.length} seeds)`
