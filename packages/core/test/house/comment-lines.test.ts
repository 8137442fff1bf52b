import assert from 'node:assert/strict'
import { test } from 'node:test'
import { files, read } from './tree.ts'

/** A line of a comment: what it begins with, its indentation and its text. */
const line = /^(\s*(?:\/\*\*|\*|\/\/))( +)(\S.*)$/

/** The first line of a numbered rule, such as ` *  W1  Every request ends once.` */
const rule = /^(\s*(?:\*|\/\/))( {2,3})([A-Z]{1,3}\d+[a-z]?)( {1,2})(\S.*)$/

/** What a reflow of comments leaves behind, with the numbers of the lines. */
function problemsOf(source: string): { readonly at: number; readonly problem: string }[] {
  const lines = source.split('\n')
  return [...outdentedIn(lines), ...loneWordsIn(lines)]
}

/** Lines of a rule that are not indented like its text. */
function outdentedIn(lines: readonly string[]): { at: number; problem: string }[] {
  const problems: { at: number; problem: string }[] = []
  for (const [index, first] of lines.entries()) {
    const [, begin, before, key, after] = rule.exec(first) ?? []
    if (key === undefined) continue
    const indent = before!.length + key.length + after!.length
    for (let next = index + 1; next < lines.length; next++) {
      const [, itsBegin, itsIndent, text] = line.exec(lines[next]!) ?? []
      if (itsBegin !== begin || rule.test(lines[next]!) || /^[@`/]/.test(text!)) break
      if (itsIndent!.length >= indent) continue
      problems.push({ at: next + 1, problem: `indent "${text!.slice(0, 30)}" like ${key}` })
    }
  }
  return problems
}

/** A single word in the middle of a paragraph. */
function loneWordsIn(lines: readonly string[]): { at: number; problem: string }[] {
  return lines.flatMap((each, index) => {
    const [, begin, indent, word] =
      /^(\s*(?:\*|\/\/))( +)([A-Za-z][A-Za-z'-]*[.,:;]?)$/.exec(each) ?? []
    const [, , , before] = line.exec(lines[index - 1] ?? '') ?? []
    const [, itsBegin, itsIndent, after] = line.exec(lines[index + 1] ?? '') ?? []
    if (word === undefined || before === undefined || itsBegin !== begin) return []
    const continues = itsIndent === indent && /^[A-Za-z`("']/.test(after!)
    // A heading, a signature of an example, or the only line of its paragraph.
    if (!continues || /(?:[.:]|```)$/.test(before)) return []
    return [{ at: index + 1, problem: `join "${word}" with its sentence` }]
  })
}

const comment = (...lines: readonly string[]): string =>
  ['/**', ...lines.map((each) => (each === '' ? ' *' : ` * ${each}`)), ' */'].join('\n')

test('lines that a reflow has broken are found, and others are not', () => {
  const broken = [
    comment('A line that ends in the middle of', 'its', 'sentence.'),
    comment('A line that ends before its last', 'word.', 'Then another sentence follows.'),
    comment(' W1  A rule of which the', ' second line', '     is not indented.'),
    comment(' W1  A rule that ends with a', ' word.', ' W2  Another rule.'),
    '// A line that ends in\n// the\n// middle.',
  ]
  for (const source of broken) assert.notDeepEqual(problemsOf(source), [], source)
  const fine = [
    comment('A paragraph that ends with one', 'word.', '', 'Another one.'),
    comment(' W1  A rule that ends with one', '     word.', ' W2  Another rule.'),
    comment('What is thrown comes after one', 'word.', '@throws `HDL_CLOSED`.'),
    comment('Invariants:', '', ' W1  A rule.'),
    comment('', '@example', 'const a = 1'),
    comment('  starting ──▶ ready', '      │', '    ended'),
    comment('H101  a rule of the analyzer has', 'no indentation.'),
  ]
  for (const source of fine) assert.deepEqual(problemsOf(source), [], source)
})

test('no comment has a line that a reflow has broken', () => {
  const sources = files(
    '{packages,examples}/*/{src,test}/**/*.{ts,tsx}',
    '{bench,chaos,scripts,servers,site}/**/*.{ts,mjs}',
  ).filter((file) => !file.includes('/fixtures/'))
  const found = sources.flatMap((file) =>
    problemsOf(read(file)).map(({ at, problem }) => `${file}:${at}: ${problem}`),
  )
  assert.deepEqual(found, [])
})
