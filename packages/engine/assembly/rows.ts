import { addInto } from "./elementwise"

/** Row r of `target` = row ids[r] of `source`. */
export function gatherRows(target: usize, source: usize, ids: usize, rows: i32, size: i32): void {
  const bytes = <usize> size << 2
  for (let r = 0; r < rows; r++) {
    memory.copy(target, source + <usize> i32.load(ids + (<usize> r << 2)) * bytes, bytes)
    target += bytes
  }
}

/** Row ids[r] of `target` += row r of `source`. */
export function addRowsAt(target: usize, source: usize, ids: usize, rows: i32, size: i32): void {
  const bytes = <usize> size << 2
  for (let r = 0; r < rows; r++) {
    addInto(target + <usize> i32.load(ids + (<usize> r << 2)) * bytes, source, size)
    source += bytes
  }
}

/** The rows of each segment are written after those that lie at its place: how keys and values enter a cache. */
export function storeRows(target: usize, source: usize, segments: usize, segmentCount: i32, size: i32): void {
  const bytes = <usize> size << 2
  for (let s = 0; s < segmentCount; s++) {
    const segment = segments + (<usize> s << 4)
    const rows = <usize> i32.load(segment, 8)
    memory.copy(target + <usize> (i32.load(segment) + i32.load(segment, 4)) * bytes, source, rows * bytes)
    source += rows * bytes
  }
}

/** Row r of `target` = column ids[r] of a packed matrix [size, N]: an embedding read from the panels of its own head. */
export function gatherPanels(target: usize, panels: usize, ids: usize, rows: i32, size: i32): void {
  for (let r = 0; r < rows; r++) {
    const id = <usize> i32.load(ids + (<usize> r << 2))
    let from = panels + (id >> 3) * (<usize> size << 5) + ((id & 7) << 2)
    for (let i = 0; i < size; i++) {
      f32.store(target, f32.load(from))
      target += 4
      from += 32
    }
  }
}
