import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  comparePythonVersions,
  parsePythonVersion,
  satisfiesPython,
} from '../../src/workspace/python-version.ts'

/** The order of PEP 440, in its own words: dev, a, b, rc, final, post. */
const ascending = [
  '1.0.dev456',
  '1.0a1',
  '1.0a2.dev456',
  '1.0a2',
  '1.0b1.dev456',
  '1.0b2',
  '1.0rc1',
  '1.0rc2',
  '1.0',
  '1.0.post456.dev34',
  '1.0.post456',
  '1.0.1',
  '1.1.dev1',
  '1.1',
  '1!0.1',
]

test('versions sort by PEP 440', () => {
  const versions = ascending.map((text) => parsePythonVersion(text)!)
  for (const [i, a] of versions.entries()) {
    for (const [j, b] of versions.entries()) {
      assert.equal(
        Math.sign(comparePythonVersions(a, b)),
        Math.sign(i - j),
        `${ascending[i]} ${ascending[j]}`,
      )
    }
  }
})

test('spellings of the same version are equal', () => {
  const same = [
    ['1.0rc1', '1.0-RC.1', '1.0c1', 'v1.0_preview_1', ' 1.0.0rc1 '],
    ['1.0a0', '1.0alpha', '1.0.a'],
    ['1.0.post1', '1.0-1', '1.0rev1', '1.0post1'],
    ['1.0', '1.0.0', '1'],
  ]
  for (const [first, ...others] of same) {
    for (const other of others) {
      assert.equal(
        comparePythonVersions(parsePythonVersion(first!)!, parsePythonVersion(other)!),
        0,
        other,
      )
    }
  }
})

test('text that is not a version', () => {
  for (const text of ['', 'one', '1.', '1..2', '1.0-x', '1.0+', 'a1', '1.0 0', '1.0rc1rc2']) {
    assert.equal(parsePythonVersion(text), undefined, text)
  }
})

test('ranges are matched', () => {
  const cases: [string, string, boolean | undefined][] = [
    ['1.5', '>=1.2, <2', true],
    ['2.0', '>=1.2,<2', false],
    ['2.0rc1', '<2', false],
    ['2.0rc1', '<2.0rc2', true],
    ['2.0.post1', '>2', false],
    ['1.4.9', '~=1.4.2', true],
    ['1.5.0', '~=1.4.2', false],
    ['1.9', '~=1.4', true],
    ['2.0', '~=1.4', false],
    ['1.2.7', '==1.2.*', true],
    ['1.20.0', '==1.2.*', false],
    ['1.5.3', '!=1.5.*', false],
    ['1.0', '==1.0.0', true],
    ['1.0', '===1.0.0', false],
    ['1.0', '', true],
    ['1.0', '(>=1.0)', true],
    ['1.0', '~=1', undefined],
    ['1.0', '>=one', undefined],
    ['1.0', '@ file:///x', undefined],
  ]
  for (const [version, range, expected] of cases) {
    assert.equal(satisfiesPython(version, range), expected, `${version} in ${range}`)
  }
})
