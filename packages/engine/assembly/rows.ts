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

/** Row r of `source` goes to bases[r] + offset + positions[r] rows: how keys and values enter a cache. */
export function storeRows(source: usize, bases: usize, offset: usize, positions: usize, rows: i32, size: i32): void {
  const bytes = <usize> size << 2
  for (let r = 0; r < rows; r++) {
    const place = <usize> r << 2
    memory.copy(load<usize>(bases + place) + offset + <usize> i32.load(positions + place) * bytes, source, bytes)
    source += bytes
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
