import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseText } from '../../src/workspace/documents.ts'
import { Problems } from '../../src/workspace/workspace-problems.ts'

function linesOf(
  file: string,
  text: string,
  ...paths: readonly string[][]
): (number | undefined)[] {
  const problems = new Problems('/')
  const document = parseText(file, text, problems)!
  assert.equal(problems.count, 0)
  return paths.map((keys) => document.lineOf(...keys))
}

test('JSON: the line of a value, or of its parent, is found', () => {
  const text = '{\n  "a": 1,\n  "b": {\n    "c": "x"\n  }\n}\n'
  assert.deepEqual(
    linesOf('/x.json', text, ['a'], ['b', 'c'], ['b', 'missing'], ['missing']),
    [2, 4, 3, 1],
  )
})

test('YAML: the line of a value, or of its parent, is found', () => {
  const text = 'a: 1\nb:\n  c: x\n'
  assert.deepEqual(linesOf('/x.yaml', text, ['a'], ['b', 'c'], ['b', 'missing'], ['missing']), [
    1,
    3,
    3,
    undefined,
  ])
})

test('TOML: the line of a value, or of its parent, is found', () => {
  const text = 'top = 1\n[project]\nname = "x"\n\n[project.urls]\n"Home" = "y"\n[[list]]\na = 1\n'
  assert.deepEqual(
    linesOf(
      '/x.toml',
      text,
      ['top'],
      ['project', 'name'],
      ['project', 'version'],
      ['project', 'urls', 'Home'],
      ['list', 'a'],
      ['nobody', 'x'],
    ),
    [1, 3, 2, 6, 8, undefined],
  )
})

test('mistakes are reported with their line', () => {
  const cases: [string, string, number | undefined, RegExp][] = [
    ['/x.json', '{\n"a": 1,\n}', 3, /JSON: /],
    ['/x.json', '{\n// note\n"a": 1}', 2, /JSON: /],
    ['/x.json', '', 1, /JSON: value expected/],
    ['/x.yaml', 'a: 1\nb: [\n', 3, /YAML: /],
    ['/x.yaml', 'a: *nobody\n', undefined, /YAML: .*nobody/],
    ['/x.toml', 'a = 1\nb = \n', 2, /TOML: /],
    ['/x.yaml', '- a\n', 1, /not a table/],
  ]
  for (const [file, text, line, problem] of cases) {
    const problems = new Problems('/')
    assert.equal(parseText(file, text, problems), undefined)
    const [found] = problems.list()
    assert.equal(found?.line, line, `${file} ${JSON.stringify(text)}: ${found?.problem}`)
    assert.match(found!.problem, problem)
  }
})
