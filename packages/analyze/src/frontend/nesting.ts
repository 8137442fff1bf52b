/**
 * How deeply a text may be nested, without parsing it.
 *
 * The native parser recurses, and a stack overflow there ends the process. So the depth is estimated
 * first, in one pass over the characters. The estimate errs on the high side: a text above the limit
 * is not refused but tried in another process (see `probe.ts`), so a wrong guess costs time only.
 *
 * Open levels: brackets and `${`. Chains: what recurses without a bracket (`!!!a`, `a => b => c`,
 * `x = y = z`, `a ? b : c ? d : e`, `new new X`, `if (a) if (b)`); they end with the statement or at a
 * comma. `else` and `<` may follow both, so they count until their level is closed. Brackets
 * left open in strings and comments are counted for the whole text, because in JSX an apostrophe or
 * `//` may be text, and what looks hidden is code.
 *
 * Known limit: a text written against this very scan can hide its depth.
 */

const backslash = 92
const newline = 10

const ordinary = 0
const word = 1
const open = 2
const close = 3
const chain = 4
const sticky = 5
const end = 6
const quote = 7
const backquote = 8
const slash = 9
const blank = 10

const kinds = new Uint8Array(128)
mark('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$#@', word)
mark('([{', open)
mark(')]}', close)
mark('=?*!~+-&|:', chain)
mark('<', sticky)
mark(';,', end)
mark('\'"', quote)
mark('`', backquote)
mark('/', slash)
mark(' \t\r\n', blank)

function mark(characters: string, kind: number): void {
  for (const character of characters) kinds[character.charCodeAt(0)] = kind
}

/** An upper estimate of how deep the tree of the text is. Stops counting once above the limit. */
export function estimateNesting(text: string, limit: number): number {
  const scan = new Scan(text, limit)
  return scan.run()
}

class Scan {
  readonly #text: string
  readonly #limit: number
  /** The sums of chains and sticky tokens for each level around the current one. */
  readonly #chains: number[] = []
  readonly #stickies: number[] = []
  /** Levels opened by `${`: their `}` goes back into the template. */
  readonly #templates: number[] = []
  #chain = 0
  #sticky = 0
  #total = 0
  #hidden = 0
  #peak = 0

  constructor(text: string, limit: number) {
    this.#text = text
    this.#limit = limit
  }

  run(): number {
    const text = this.#text
    let previous = end
    let at = 0
    while (at < text.length && this.#peak <= this.#limit) {
      const code = text.charCodeAt(at)
      const kind = (code < 128 ? kinds[code] : word) ?? ordinary
      switch (kind) {
        case blank:
          at++
          continue
        case word: {
          const from = at
          at = endOfWord(text, at + 1)
          if (at - from === 4 && text.startsWith('else', from)) this.#addSticky()
          else if (previous === word || previous === close) this.#addChain()
          break
        }
        case open:
          this.#open()
          at++
          break
        case close:
          this.#close()
          at++
          if (code === 125 && this.#templates.at(-1) === this.#chains.length) {
            this.#templates.pop()
            at = this.#template(at)
            previous = word
            continue
          }
          break
        case chain:
          this.#addChain()
          at++
          break
        case sticky:
          this.#addSticky()
          at++
          break
        case end:
          this.#total -= this.#chain
          this.#chain = 0
          at++
          break
        case quote:
          at = this.#string(at, code)
          previous = word
          continue
        case backquote:
          at = this.#template(at + 1)
          previous = word
          continue
        case slash:
          at = this.#slash(at, previous)
          continue
        default:
          at++
      }
      previous = kind
    }
    return this.#peak
  }

  #note(): void {
    const depth = this.#total + this.#hidden
    if (depth > this.#peak) this.#peak = depth
  }

  #addChain(): void {
    this.#chain++
    this.#total++
    this.#note()
  }

  #addSticky(): void {
    this.#sticky++
    this.#total++
    this.#note()
  }

  #open(): void {
    this.#chains.push(this.#chain)
    this.#stickies.push(this.#sticky)
    this.#chain = 0
    this.#sticky = 0
    this.#total++
    this.#note()
  }

  #close(): void {
    if (this.#chains.length === 0) return
    this.#total -= 1 + this.#chain + this.#sticky
    this.#chain = this.#chains.pop() ?? 0
    this.#sticky = this.#stickies.pop() ?? 0
  }

  /** To behind a string, or to the end of its line when it is not closed there. */
  #string(from: number, delimiter: number): number {
    const text = this.#text
    let at = from + 1
    for (; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === backslash) at++
      else if (code === delimiter || code === newline) break
    }
    this.#hide(from, at)
    return at + 1
  }

  /** Moves behind a template, or into the code of its next `${`. */
  #template(from: number): number {
    const text = this.#text
    for (let at = from; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === backslash) at++
      else if (code === 96) return at + 1
      else if (code === 36 && text.charCodeAt(at + 1) === 123) {
        this.#templates.push(this.#chains.length)
        this.#open()
        return at + 2
      }
    }
    return text.length
  }

  /** A comment, a regular expression or a division. */
  #slash(from: number, previous: number): number {
    const text = this.#text
    const next = text.charCodeAt(from + 1)
    if (next === 47) {
      const to = text.indexOf('\n', from)
      return this.#hide(from, to === -1 ? text.length : to)
    }
    if (next === 42) {
      const to = text.indexOf('*/', from + 2)
      return this.#hide(from, to === -1 ? text.length : to + 2)
    }
    if (previous === word || previous === close) return from + 1
    return this.#regularExpression(from)
  }

  /** When the line ends first, it was none. */
  #regularExpression(from: number): number {
    const text = this.#text
    let isInClass = false
    for (let at = from + 1; at < text.length; at++) {
      const code = text.charCodeAt(at)
      if (code === newline) break
      if (code === backslash) at++
      else if (code === 91) isInClass = true
      else if (code === 93) isInClass = false
      else if (code === 47 && !isInClass) return this.#hide(from, at + 1)
    }
    return from + 1
  }

  #hide(from: number, to: number): number {
    let depth = 0
    for (let at = from; at < to; at++) {
      const code = this.#text.charCodeAt(at)
      const kind = code < 128 ? kinds[code] : ordinary
      if (kind === open || kind === sticky) depth++
      else if ((kind === close || code === 62) && depth > 0) depth--
    }
    this.#hidden += depth
    this.#note()
    return to
  }
}

function endOfWord(text: string, from: number): number {
  let at = from
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code < 128 && kinds[code] !== word) break
  }
  return at
}
