/**
 * A line of a log as people read it: without the codes of terminals, and with its addresses as links.
 *
 * Invariants, quoted by the tests:
 *  X1  The pieces together are the text without its escape sequences.
 *  X2  Only addresses of http and https are links, and a link leads to exactly what it shows.
 *  X3  The marks that end a sentence, and a bracket that was opened before the address, are not part of it.
 */
export interface Piece {
  readonly text: string
  readonly isLink: boolean
}

// oxlint-disable-next-line no-control-regex -- what terminals read begins with a control character
const escapes = /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?)/g
const addresses = /https?:\/\/[^\s<>"'`]+/g

export function withoutEscapes(text: string): string {
  return text.includes('\u001B') ? text.replace(escapes, '') : text
}

export function piecesOf(text: string): Piece[] {
  const plain = withoutEscapes(text)
  const pieces: Piece[] = []
  let from = 0
  for (const { 0: found, index } of plain.matchAll(addresses)) {
    const address = trimmed(found)
    if (index > from) pieces.push({ text: plain.slice(from, index), isLink: false })
    pieces.push({ text: address, isLink: URL.canParse(address) })
    from = index + address.length
  }
  if (from < plain.length) pieces.push({ text: plain.slice(from), isLink: false })
  return pieces
}

function trimmed(address: string): string {
  const text = address.replace(/[.,;:!?]+$/, '')
  const isOpen = text.endsWith(')') && !text.includes('(')
  return isOpen ? trimmed(text.slice(0, -1)) : text
}
