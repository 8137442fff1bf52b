/**
 * Whether a name is assigned at most once in the text of a file: down-levelled constants are `var`, and
 * count as constants then.
 *
 * By the text, whatever the scopes are: a second variable of the same name only makes it too careful.
 * The name is searched and its surroundings are inspected. A pattern for each name would be compiled
 * for each name, and would try every place of the file; most names that are not constants are seen to
 * be none in the first lines.
 */
import type { FileUnit } from '../ir/program.ts'

const answers = new WeakMap<FileUnit, Map<string, boolean>>()

export function isAssignedOnce(file: FileUnit, name: string): boolean {
  let known = answers.get(file)
  if (known === undefined) answers.set(file, (known = new Map()))
  let answer = known.get(name)
  if (answer === undefined) known.set(name, (answer = !isAssignedTwice(file.parsed.text, name)))
  return answer
}

/** `name =`, `name +=`, `name ??=`; not `x.name =`, `name ==` or `name =>`. */
export function isAssignedTwice(text: string, name: string): boolean {
  // Nothing would be found everywhere and for ever.
  if (name === '') return true
  let isAssigned = false
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (!isAssignmentAfter(text, at + name.length) || isInName(text.charCodeAt(at - 1))) continue
    if (isAssigned) return true
    isAssigned = true
  }
  return false
}

const equals = 0x3d
const greater = 0x3e

function isAssignmentAfter(text: string, position: number): boolean {
  let at = position
  while (isSpace(text.charCodeAt(at))) at += 1
  const code = text.charCodeAt(at)
  if (code !== equals) {
    if (!operators.has(code)) return false
    at += 1
    if (doubled.has(code) && text.charCodeAt(at) === code) at += 1
    if (text.charCodeAt(at) !== equals) return false
  }
  const after = text.charCodeAt(at + 1)
  return after !== equals && after !== greater
}

const codes = (letters: string): ReadonlySet<number> =>
  new Set(Array.from(letters, (letter) => letter.charCodeAt(0)))

/** The characters of `+=`, `&&=`, `??=`; the second may be written twice. */
const operators = codes('+*|&?-')
const doubled = codes('|&?')

/** Such a name is only a part of a longer one, or a field. */
function isInName(code: number): boolean {
  return code < 128 && namePart[code] === 1
}

const namePart = Uint8Array.from({ length: 128 }, (_, code) =>
  Number(/[\w$.]/.test(String.fromCharCode(code))),
)

const otherSpace = /\s/

function isSpace(code: number): boolean {
  if (code === 0x20 || (code >= 9 && code <= 13)) return true
  return code >= 0xa0 && otherSpace.test(String.fromCharCode(code))
}
