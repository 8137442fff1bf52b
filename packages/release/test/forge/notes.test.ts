import assert from 'node:assert/strict'
import { test } from 'node:test'
import { entryOf } from '../../src/forge/notes.ts'

const changelog = `# a

## 1.1.0

### Minor Changes

- Add x.

## [1.0.0](https://example.com) (2026-01-01)

* first
### Bug Fixes
* y

## v0.9.0
`

test('notes are the entry of the version, whatever tool wrote the changelog', () => {
  assert.equal(entryOf(changelog, '1.1.0'), '### Minor Changes\n\n- Add x.')
  assert.equal(entryOf(changelog, '1.0.0'), '* first\n### Bug Fixes\n* y')
  assert.equal(entryOf(changelog, '0.9.0'), '')
  assert.equal(entryOf(changelog, '1.0'), undefined)
})
