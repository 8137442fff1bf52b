/**
 * Manifests and settings, read with the lines that problems refer to.
 * An unreadable file is a problem and not an exception: the others are still read.
 */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import {
  findNodeAtLocation,
  parse as parseTolerant,
  parseTree,
  printParseErrorCode,
  type ParseError,
} from 'jsonc-parser'
import { parse as parseToml, TomlError } from 'smol-toml'
import { LineCounter, isNode, parseDocument } from 'yaml'
import { describe } from '@heddle/core/lowlevel'
import { isFields, type Fields } from '../manifest/local-range.ts'
import type { Problems } from './workspace-problems.ts'

export interface Document {
  /** Absolute. */
  readonly file: string
  readonly fields: Fields
  /** The line of a value, or of its parent; undefined when that is missing too. */
  lineOf(...keys: readonly string[]): number | undefined
}

type Parser = (text: string) => Pick<Document, 'lineOf'> & { readonly value: unknown }

/** What a parser found, in the form of all of them. */
class SyntaxProblem extends Error {
  readonly line: number | undefined

  constructor(message: string, line: number | undefined) {
    super(message)
    this.line = line
  }
}

const absent = new Set(['ENOENT', 'ENOTDIR'])

/**
 * Its text without the byte order mark, or undefined when there is no such file.
 *
 * *Cancellation*: none; a manifest is read in one go.
 */
export async function readText(file: string, problems: Problems): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).replace(/^\ufeff/, '')
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (!absent.has(code ?? '')) {
      problems.add({
        file,
        problem: `it cannot be read: ${describe(error)}`,
        todo: 'Check its kind and its permissions.',
      })
    }
    return undefined
  }
}

function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1))
    line++
  return line
}

/** `CommaExpected` is `comma expected`. */
const inWords = (code: string): string =>
  code.replace(/(?<=.)[A-Z]/g, (letter) => ` ${letter}`).toLowerCase()

const json: Parser = (text) => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    // JSON.parse() does not say where a file ends too early.
    const errors: ParseError[] = []
    parseTolerant(text, errors, { disallowComments: true, allowTrailingComma: false })
    const [first] = errors
    if (first === undefined) throw new SyntaxProblem(describe(error), undefined)
    throw new SyntaxProblem(inWords(printParseErrorCode(first.error)), lineAt(text, first.offset))
  }
  const lineOf = (...keys: readonly string[]): number | undefined => {
    const tree = parseTree(text)
    for (let length = keys.length; tree !== undefined && length >= 0; length--) {
      const node = findNodeAtLocation(tree, keys.slice(0, length))
      if (node !== undefined) return lineAt(text, node.offset)
    }
    return undefined
  }
  return { value, lineOf }
}

const yaml: Parser = (text) => {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines })
  const [first] = document.errors
  if (first !== undefined)
    throw new SyntaxProblem(first.message.split('\n')[0]!, first.linePos?.[0].line)
  const lineOf = (...keys: readonly string[]): number | undefined => {
    for (let length = keys.length; length > 0; length--) {
      const node = document.getIn(keys.slice(0, length), true)
      if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
    }
    return undefined
  }
  try {
    // An empty file is a document without settings.
    return { value: document.toJS() ?? {}, lineOf }
  } catch (error) {
    // References without a target, or so many that they would fill the memory.
    throw new SyntaxProblem(describe(error), undefined)
  }
}

const toml: Parser = (text) => {
  let value: unknown
  try {
    value = parseToml(text)
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [message] = error.message.replace(/^Invalid TOML document: /, '').split('\n')
    throw new SyntaxProblem(message!, error.line)
  }
  const lineOf = (...keys: readonly string[]): number | undefined => lineInToml(text, keys)
  return { value, lineOf }
}

/**
 * The TOML reader keeps no positions. Searching for the header and then for the key finds the usual
 * forms; otherwise the line of the table is reported.
 */
function lineInToml(text: string, keys: readonly string[]): number | undefined {
  const wanted = keys.join('.')
  const table = keys.slice(0, -1).join('.')
  let current = ''
  let above: number | undefined
  for (const [index, line] of text.split('\n').entries()) {
    const opened = /^\s*\[\[?([^\]]+)\]/.exec(line)?.[1]?.trim().replaceAll('"', '')
    const key = /^\s*"?([\w.-]+)"?\s*=/.exec(line)?.[1]
    if (opened !== undefined) current = opened
    if (opened === table) above ??= index + 1
    const name = opened ?? (current === '' ? key : `${current}.${key}`)
    if (name === wanted) return index + 1
  }
  return above
}

const languages: Readonly<Record<string, { readonly name: string; readonly parse: Parser }>> = {
  json: { name: 'JSON', parse: json },
  yaml: { name: 'YAML', parse: yaml },
  yml: { name: 'YAML', parse: yaml },
  toml: { name: 'TOML', parse: toml },
}

/**
 * Reads a file by its ending. Undefined when it is missing or wrong: that is
 * among the problems then.
 *
 * *Cancellation*: none; a manifest is read in one go.
 */
export async function readDocument(
  file: string,
  problems: Problems,
): Promise<Document | undefined> {
  const text = await readText(file, problems)
  return text === undefined ? undefined : parseText(file, text, problems)
}

/** The same for a text that has been read already, in the language of this ending. */
export function parseText(
  file: string,
  text: string,
  problems: Problems,
  ending: string = path.extname(file).slice(1),
): Document | undefined {
  const language = languages[ending]!
  try {
    const { value, lineOf } = language.parse(text)
    if (isFields(value)) return { file, fields: value, lineOf }
    problems.add({
      file,
      line: 1,
      problem: `it is not a table of names and values`,
      todo: `Write ${language.name} with names on the left.`,
    })
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error
    const problem = `it is not valid ${language.name}: ${error.message}`
    problems.add({ file, line: error.line, problem, todo: 'Repair the file at this line.' })
  }
  return undefined
}
