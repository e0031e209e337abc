// A segment is four i32: the place of its keys in the cache, the number of its cached positions before its rows, the number of its rows,
// and its parent, the segment that it continues, or -1. Its rows see all rows of its ancestors. A paged cache is a table of segments
// without rows, each of which continues the previous page. A path leads from the root to a segment. Each level of a path is two i32: the
// place of a segment's keys, and how many of them are seen.

export const levelBytes: usize = 8

// @ts-ignore: decorator
@inline
export function segmentAt(segments: usize, index: i32): usize {
  return segments + (<usize> index << 4)
}

/** The place of the keys of a segment or of a path level. */
// @ts-ignore: decorator
@inline
export function placeOf(segmentOrLevel: usize): usize {
  return <usize> i32.load(segmentOrLevel)
}

// @ts-ignore: decorator
@inline
export function beforeOf(segment: usize): i32 {
  return i32.load(segment, 4)
}

// @ts-ignore: decorator
@inline
export function rowsOf(segment: usize): i32 {
  return i32.load(segment, 8)
}

// @ts-ignore: decorator
@inline
function parentOf(segment: usize): i32 {
  return i32.load(segment, 12)
}

// @ts-ignore: decorator
@inline
export function seenOf(level: usize): i32 {
  return i32.load(level, 4)
}

// @ts-ignore: decorator
@inline
export function setSeen(level: usize, count: i32): void {
  i32.store(level, count, 4)
}

/** Writes the path to segment `index`, which excludes the keys of the segment's rows. Returns the path's end. */
// @ts-ignore: decorator
@inline
export function writePath(path: usize, segments: usize, index: i32): usize {
  let end = path
  for (let i = index; i >= 0; i = parentOf(segmentAt(segments, i))) end += levelBytes
  let level = end
  for (let i = index; i >= 0;) {
    const segment = segmentAt(segments, i)
    level -= levelBytes
    i32.store(level, <i32> placeOf(segment))
    setSeen(level, beforeOf(segment) + (i == index ? 0 : rowsOf(segment)))
    i = parentOf(segment)
  }
  return end
}
