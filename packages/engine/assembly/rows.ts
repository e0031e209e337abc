import { addInto } from "./elementwise"
import { beforeOf, placeOf, rowsOf, segmentAt } from "./segments"

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

/** Writes the rows of each segment into the key or value cache, after the segment's positions that are already there. */
export function storeRows(target: usize, source: usize, segments: usize, segmentCount: i32, size: i32): void {
  const bytes = <usize> size << 2
  for (let s = 0; s < segmentCount; s++) {
    const segment = segmentAt(segments, s)
    const rows = <usize> rowsOf(segment) * bytes
    memory.copy(target + (placeOf(segment) + <usize> beforeOf(segment)) * bytes, source, rows)
    source += rows
  }
}

/** Row r of `target` = column ids[r] of a packed matrix [size, N]: looks up an embedding in the panels of a tied head. */
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
