const characters = new Intl.Segmenter()

const ellipsis = '…'

/**
 * The text in at most `most` UTF-16 units, with an ellipsis where its end is missing. It is cut between two characters as people see them;
 * a single character that takes more than half of the room is cut between two code points.
 */
export function shorten(text: string, most: number): string {
  if (text.length <= most) return text
  const room = most - ellipsis.length
  // Together with the next text: else a character that continues there seems to end.
  const start = characters.segment(text.slice(0, most + 2)).containing(room)?.index ?? room
  return text.slice(0, start > room / 2 ? start : codePointEnd(text, room)) + ellipsis
}

/** The nearest place at or before `index` that is not inside a surrogate pair. */
function codePointEnd(text: string, index: number): number {
  const last = text.charCodeAt(index - 1)
  return last >= 0xd800 && last <= 0xdbff ? index - 1 : index
}
