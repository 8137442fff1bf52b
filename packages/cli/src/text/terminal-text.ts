/**
 * Text that is safe to print, and how many columns it takes.
 *
 * What jobs say is untrusted: a stray escape sequence would move the cursor out of the live region,
 * change the title of the window or hide the following text. Nothing but printable characters gets through.
 *
 * Known limit: terminals disagree on the width of some emoji sequences. The screen switches automatic
 * wrapping off while it draws, so a wrong guess costs the end of a line and not the picture.
 */
import { stripVTControlCharacters } from 'node:util'

/* oxlint-disable no-control-regex -- control characters are what this file is about */

// C0 and C1 controls, and the marks that reverse the order in which text is shown.
const unsafe = /[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g
const anyUnsafe = new RegExp(unsafe.source)
const lineBreak = /\r\n|[\n\u0085\u2028\u2029]/
// Sequences that a missing end keeps stripVTControlCharacters from seeing: device control strings.
const strings =
  /(?:\u001b[P^_X\]]|[\u0090\u009d\u009e\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)?/g
const color = /\u001b\[[\d;:]*m/g

const tab = '    '

function visible(control: string): string {
  if (control === '\t') return tab
  const code = control.charCodeAt(0)
  if (code < 32) return String.fromCharCode(0x2400 + code)
  return code === 0x7f ? '\u2421' : ''
}

/** One line of printable characters: sequences are removed, other controls shown as pictures. */
export function printable(text: string): string {
  if (!anyUnsafe.test(text)) return text
  return stripVTControlCharacters(text.replace(strings, '')).replace(unsafe, visible)
}

/** The lines of a text, each printable. For a line that overwrites itself, the last version. */
export function printableLines(text: string): string[] {
  return splitLines(text).map(printable)
}

/** Like {@link printableLines}, with colours kept and closed at the end of each line. */
export function colorfulLines(text: string): string[] {
  return splitLines(text).map((line) => {
    const colors = line.match(color)
    if (colors === null) return printable(line)
    const pieces = line.split(color).map(printable)
    return `${pieces.map((piece, i) => piece + (colors[i] ?? '')).join('')}\u001b[0m`
  })
}

function splitLines(text: string): string[] {
  const lines = text.split(lineBreak)
  if (lines.length > 1 && lines.at(-1) === '') lines.pop()
  return lines
    .map((line) => line.replace(/\r+$/, ''))
    .map((line) => line.slice(line.lastIndexOf('\r') + 1))
}

const plainAscii = /^[\u0020-\u007e]*$/
// East Asian wide and full-width characters that are not emoji.
const wide =
  /[\u1100-\u115f\u2329\u232a\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18dff}\u{1aff0}-\u{1b2ff}\u{1d300}-\u{1d376}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\ufe0f/u
const invisible = /^[\p{Mark}\p{Format}\p{Surrogate}\p{Default_Ignorable_Code_Point}]*$/u

/** The units that a reader takes for one character: letters with their accents, flags, families. */
const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })

function widthOfCharacter(character: string): number {
  if (invisible.test(character)) return 0
  return wide.test(character) ? 2 : 1
}

/** How many columns a printable text takes. */
export function widthOf(text: string): number {
  if (plainAscii.test(text)) return text.length
  let width = 0
  for (const { segment } of characters.segment(text)) width += widthOfCharacter(segment)
  return width
}

/** How many rows of a terminal a printable text takes that is wrapped at its edge. */
export function rowsOf(text: string, columns: number): number {
  if (plainAscii.test(text)) return Math.max(1, Math.ceil(text.length / Math.max(1, columns)))
  let rows = 1
  let column = 0
  for (const { segment } of characters.segment(text)) {
    const width = widthOfCharacter(segment)
    // A wide character that does not fit leaves the last column empty.
    if (column + width > columns && column > 0) {
      rows++
      column = 0
    }
    column += width
  }
  return rows
}

/**
 * The text in at most `columns`, with an ellipsis where something is missing. It is cut between two words, and not
 * between a figure and its unit, or its noun in a list; only a first word that does not fit is cut itself.
 */
export function truncate(text: string, columns: number, ellipsis = '…'): string {
  if (widthOf(text) <= columns) return text
  const room = columns - widthOf(ellipsis)
  if (room < 0) return ''
  const kept = start(text, room)
  const whole = wholeWords(text, kept)
  if (whole !== '') return whole + ellipsis
  // Text after other text is left out as a whole; a long name ends at the end of one of its parts.
  if (/^\s/.test(kept)) return ellipsis
  const [parts = ''] = /^.*[\p{L}\p{N}](?=[-_/.:@#][^-_/.:@#]*$)/su.exec(kept) ?? []
  return (parts.length >= room / 3 ? parts : kept) + ellipsis
}

/**
 * The end of a name in at most `columns`, with an ellipsis where its start is missing: of a path the file says most. It is cut before
 * a part of the path, unless little would be left.
 */
export function truncateStart(text: string, columns: number, ellipsis = '…'): string {
  if (widthOf(text) <= columns) return text
  const room = columns - widthOf(ellipsis)
  if (room < 0) return ''
  const all = [...characters.segment(text)].map(({ segment }) => segment)
  let first = all.length
  for (let width = 0; first > 0; first--) {
    width += widthOfCharacter(all[first - 1]!)
    if (width > room) break
  }
  const kept = all.slice(first).join('')
  const [parts = ''] = /[/\\].*$/su.exec(kept) ?? []
  return ellipsis + (widthOf(parts) >= room / 3 ? parts : kept)
}

/** Like {@link truncate}, but never cuts a word: where no word fits, only the ellipsis remains. */
export function truncateWords(text: string, columns: number, ellipsis = '…'): string {
  if (widthOf(text) <= columns) return text
  const room = columns - widthOf(ellipsis)
  return room < 0 ? '' : wholeWords(text, start(text, room)) + ellipsis
}

/** What belongs to the figure before it: its unit, or `of 200`. */
const belongsToFigure = /^(?:(?:ms|s|min|h|%|[kMG]?B)(?![\p{L}\p{N}])|of \d)/u

/** The words of a text that are whole in its beginning. */
function wholeWords(text: string, kept: string): string {
  const isBetween = /\s$/.test(kept) || /^\s/.test(text.slice(kept.length))
  const whole = isBetween ? kept.trimEnd() : (/^.*\S(?=\s+\S*$)/s.exec(kept)?.[0] ?? '')
  const next = text.slice(whole.length).trimStart()
  const words = belongsToFigure.test(next)
    ? whole.replace(/\s*[\d.,]+$/, '')
    : whole.replace(/(?:,\s[\d.,]+|\s*[\d.,]+ of)$/, '')
  // Punctuation in front of the part that was cut off.
  return words.replace(/(?:[,;:]|\s[-·])+$/, '')
}

function start(text: string, columns: number): string {
  if (plainAscii.test(text)) return text.slice(0, columns)
  let kept = ''
  let width = 0
  for (const { segment } of characters.segment(text)) {
    width += widthOfCharacter(segment)
    if (width > columns) break
    kept += segment
  }
  return kept
}

/** Adds spaces up to a width. */
export function pad(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}
