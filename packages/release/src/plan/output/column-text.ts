/** Texts of unknown origin, such as titles of commits, for terminals. */

const control = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
const letters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** On one line, without anything that a terminal would obey. */
export function plainText(text: string): string {
  return text.replace(control, ' ').trim()
}

/** How many columns of a terminal it takes. */
export function columnsOf(text: string): number {
  let columns = 0
  for (const { segment } of letters.segment(text)) columns += wide.test(segment) ? 2 : 1
  return columns
}

/** Not wider than this, with `…` where something was cut off. */
export function shorten(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text
  let kept = ''
  let used = 1
  for (const { segment } of letters.segment(text)) {
    used += columnsOf(segment)
    if (used > columns) break
    kept += segment
  }
  return columns < 1 ? '' : `${kept}…`
}

export function padded(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - columnsOf(text)))
}
