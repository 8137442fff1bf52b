/** The same numbers, with room for one more at least: growing to the double keeps growing rare. */
export function withRoomFor(
  index: number,
  numbers: Int32Array<ArrayBuffer>,
): Int32Array<ArrayBuffer> {
  const more = new Int32Array(index * 2)
  more.set(numbers)
  return more
}
