import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

const root = path.resolve(import.meta.dirname, '../../../..')
const page = readFileSync(path.join(root, 'docs/design/serve-scenarios.md'), 'utf8')

interface Row {
  readonly number: string
  readonly level: 'L' | 'H' | 'P'
  readonly files: readonly string[]
}

const rows: readonly Row[] = Array.from(
  page.matchAll(/^\| (S\d+) *\| ([LHP]) *\|[^|]+\|([^|]+)\|/gm),
  ([, number, level, files]) => ({
    number: number!,
    level: level as Row['level'],
    files: Array.from(files!.matchAll(/`([^`]+)`/g), ([, file]) => file!),
  }),
)

/** How a file shows that it works at a level: it is over a socket, or in another process. */
const signs: Readonly<Record<Row['level'], RegExp>> = {
  L: /./,
  H: /\bstartServer\b|\bserve\b|\bstartWorker\b|support\/(?:client|server)|http\//,
  P: /child_process|\/kit\.ts|support\/stage|\bfork\b/,
}

function read(file: string): string {
  return readFileSync(path.join(root, file.startsWith('chaos/') ? '' : 'packages', file), 'utf8')
}

function titlesOf(text: string): string[] {
  return Array.from(text.matchAll(/\b\w*test\(\s*(['"`])(.*?)\1/gi), ([, , title]) => title!)
}

test('every scenario of the service is named by a test at its level', () => {
  assert.ok(rows.length >= 95, `${rows.length} rows`)
  assert.equal(new Set(rows.map(({ number }) => number)).size, rows.length)
  for (const { number, level, files } of rows) {
    assert.ok(files.length > 0, `${number} has no test`)
    for (const file of files) {
      const text = read(file)
      const isNamed = titlesOf(text).some((title) => new RegExp(`\\b${number}\\b`).test(title))
      assert.ok(isNamed, `${file}: no title names ${number}`)
    }
    const isShown = files.some((file) => signs[level].test(read(file)))
    assert.ok(isShown, `${number} has no test at level ${level}`)
  }
})

test('all numbers of the specification are in one of the two tables', () => {
  const known = new Set(Array.from(page.matchAll(/^\| (S\d+) *\|/gm), ([, number]) => number!))
  const notGiven = [17, 24, 28, 37, 40, 46, 55, 57, 68, 73, 77, 86, 90, 99, 105, 108, 138]
  for (let n = 1; n <= 140; n++) {
    if (n > 110 && n < 132) continue
    assert.equal(known.has(`S${n}`), !notGiven.includes(n), `S${n}`)
  }
})
