import assert from 'node:assert/strict'
import { test } from 'node:test'
import { movedRequirement } from '../../src/manifest/moved-requirement.ts'

const cases: readonly (readonly [range: string, to: string, moved: string | undefined])[] = [
  ['', '2.0.0', ''],
  ['@ git+https://example.com/x', '2.0.0', '@ git+https://example.com/x'],
  ['>=1.0', '2.0.0', '>=1.0'],
  ['>=1.0,<2', '1.3.0', '>=1.0,<2'],
  ['>=1.0,<2', '2.0.0', '>=2.0.0,<3'],
  ['>= 1.2, <1.3', '1.3.1', '>= 1.3.1, <1.4'],
  ['<2.0.0,>=1.0', '3.1.0', '<4.0.0,>=3.1.0'],
  ['==1.2.0', '1.3.0', '==1.3.0'],
  ['==1.*', '2.0.0', '==2.*'],
  ['~=1.2', '2.1.0', '~=2.1'],
  ['~=1.2.0', '2.1.0rc1', undefined],
  ['>=1.0,<2', '2.0.0rc1', '>=2.0.0rc1,<3'],
  ['<2', '2.0.0', undefined],
  ['>=1.0,<5', '6.0.0', undefined],
  ['>=1.0,!=1.5,<2', '2.0.0', undefined],
  ['>=0.1,<1', '2.0.0', '>=0.1,<1'],
]

test('the range of a requirement follows its package, where its kind is clear', () => {
  for (const [range, to, moved] of cases) {
    assert.equal(movedRequirement(range, '1.2.0', to), moved, `${range} → ${to}`)
  }
})
