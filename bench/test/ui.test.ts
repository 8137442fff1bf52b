import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { addressOf, uiFiles } from '../suites/ui/parts.ts'

test('the files of the dashboard that the rows load by address are there', () => {
  assert.deepEqual(
    uiFiles.filter((file) => !existsSync(addressOf(file))),
    [],
  )
})
