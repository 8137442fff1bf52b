import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { addressInPackage, bundleUrl, isOwnLayout } from '../../src/kernel/own-file.ts'

test('a bundle is distinguished from the files of the package by the address of this module', () => {
  assert.equal(bundleUrl, undefined)
  assert.ok(isOwnLayout('file:///app/node_modules/@heddle/core/dist/kernel/own-file.js'))
  assert.ok(!isOwnLayout('file:///app/dist/main.js'))
})

test('addresses in the package are those of its own files', () => {
  assert.ok(existsSync(fileURLToPath(addressInPackage('graph/job.ts'))))
})
