import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  isLocalRequirement,
  normalName,
  parseRequirement,
  pinRequirement,
  pythonVersion,
} from '../../src/manifest/requirement.ts'

const pinned: [requirement: string, result: string][] = [
  ['genkit', 'genkit==0.5.0'],
  ['genkit>=0.4', 'genkit==0.5.0'],
  ['genkit ~= 0.4.1', 'genkit==0.5.0'],
  ['Gen_Kit.Core>=0.4,<1', 'Gen_Kit.Core==0.5.0'],
  ['genkit (>=0.4)', 'genkit==0.5.0'],
  ['genkit[google,aws]>=0.4', 'genkit[google,aws]==0.5.0'],
  ['genkit[google, aws] >= 0.4', 'genkit[google, aws]==0.5.0'],
  ['genkit>=0.4; python_version < "3.13"', 'genkit==0.5.0; python_version < "3.13"'],
  [
    'genkit[google,aws]>=0.4 ; sys_platform == "linux"',
    'genkit[google,aws]==0.5.0 ; sys_platform == "linux"',
  ],
  ['genkit;python_version<"4"', 'genkit==0.5.0;python_version<"4"'],
  ['genkit @ file:///src/genkit', 'genkit==0.5.0'],
  ['genkit @ https://x.org/a;b ; os_name == "nt"', 'genkit==0.5.0 ; os_name == "nt"'],
]
for (const [requirement, result] of pinned) {
  test(`D: ${requirement} is pinned as ${result}`, () => {
    assert.equal(pinRequirement(parseRequirement(requirement)!, '0.5.0'), result)
  })
}

test('text that is not a requirement is not taken for one', () => {
  for (const text of ['', ' ', '-e .', './local', 'two words', '!x', '[extra]']) {
    assert.equal(parseRequirement(text), undefined, text)
  }
})

test('names are compared as Python does', () => {
  assert.equal(normalName('Gen__Kit.Core-x'), 'gen-kit-core-x')
})

test('requirements that lead to this machine are found', () => {
  const isLocal = (text: string): boolean => isLocalRequirement(parseRequirement(text)!)
  assert.ok(isLocal('a @ file:///src/a'))
  assert.ok(isLocal('a @ ../a'))
  assert.ok(isLocal('a@git+file:///src/a'))
  assert.ok(!isLocal('a @ https://example.com/a.whl'))
  assert.ok(!isLocal('a>=1'))
})

test('versions are written as Python writes them', () => {
  const versions: Record<string, string> = {
    '1.0.0': '1.0.0',
    '1.0.0-rc.1': '1.0.0rc1',
    '1.0.0-alpha.2': '1.0.0a2',
    '1.0.0-beta': '1.0.0b0',
    '1.0.0rc1': '1.0.0rc1',
    '1.0.0.dev3': '1.0.0.dev3',
    '1.0.0-post.1': '1.0.0.post1',
    '1.0.0-canary.1': '1.0.0-canary.1',
  }
  for (const [version, python] of Object.entries(versions)) {
    assert.equal(pythonVersion(version), python)
  }
})
