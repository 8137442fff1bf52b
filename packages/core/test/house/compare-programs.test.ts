import assert from 'node:assert/strict'
import { test } from 'node:test'
import { read } from './tree.ts'

const page = read('docs/compare-programs.md')

/** Lines with code: not blank, and not only a comment. */
function linesOf(code: string): number {
  const text = code.replaceAll(/^\s*\/\*[^]*?\*\/\s*$/gm, '')
  return text.split('\n').filter((line) => line.trim() !== '' && !/^\s*\/\//.test(line)).length
}

/** All lines of the fences in the section with this heading. */
function sectionLines(heading: string): number {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading))
  assert.ok(section !== undefined, heading)
  const fences = section.matchAll(/^```(?:ts|json)\n([^]*?)^```$/gm)
  return Array.from(fences, ([, code]) => linesOf(code!)).reduce((a, b) => a + b)
}

const rows = [
  { ours: ['etl/graph.ts', 'etl/jobs.ts'], heading: 'Pages with' },
  { ours: ['thumbnails/graph.ts', 'thumbnails/jobs.ts'], heading: 'Thumbnails with' },
  { ours: ['build/build.ts'], heading: 'Shell tasks with' },
  { ours: ['service/served.ts'], heading: 'Jobs behind HTTP with' },
]

test('the table of docs/compare-programs.md has the numbers of lines that the programs have', () => {
  const found = Array.from(
    page.matchAll(/^\| [^|]+ \| \[[^|]+ \| (\d+) \| [^|]+ \| (\d+) \|/gm),
    ([, ours, theirs]) => [Number(ours), Number(theirs)],
  )
  const counted = rows.map(({ ours, heading }) => [
    ours.reduce((sum, file) => sum + linesOf(read(`examples/${file}`)), 0),
    sectionLines(heading),
  ])
  assert.deepEqual(found, counted)
})

test('comments and blank lines are not counted', () => {
  assert.equal(linesOf('/** What\n * it is. */\nconst a = 1 // one\n\n// two\nconst b = 2\n'), 2)
})
