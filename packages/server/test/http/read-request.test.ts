import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { deadlineOf, newRequestId, requestId } from '../../src/http/read-request.ts'
import { codeOf } from '../support/told.ts'

function request(headers: Record<string, string | string[]>): FastifyRequest {
  return { id: 'given', headers } as unknown as FastifyRequest
}

/** Refused with a message that says what to send instead. */
function refuses(read: () => unknown, said: RegExp): void {
  assert.throws(read, (error) => {
    assert.equal(codeOf(error), 'HDL_BAD_INPUT')
    assert.match((error as Error).message, said)
    return true
  })
}

test('the id of a request: its own, else the given one', () => {
  assert.equal(requestId(request({})), 'given')
  assert.equal(requestId(request({ 'x-request-id': 'a-B_9.:x' })), 'a-B_9.:x')
  assert.equal(requestId(request({ 'x-request-id': 'x'.repeat(128) })), 'x'.repeat(128))
  for (const bad of ['', ' ', 'a b', 'ä', 'a/b', 'a\nb', 'x'.repeat(129), ['a', 'b']]) {
    refuses(
      () => requestId(request({ 'x-request-id': bad })),
      /^X-Request-Id: expected at most 128/,
    )
  }
})

test('a generated id has 128 bits that do not follow from earlier ids', () => {
  const ids = Array.from({ length: 1_000 }, newRequestId)
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) {
    assert.match(id, /^[A-Za-z0-9_-]{22}$/)
    assert.equal(Buffer.from(id, 'base64url').length, 16)
    assert.equal(requestId(request({ 'x-request-id': id })), id)
  }
  // Each of the 128 bits is sometimes 0 and sometimes 1: none counts and none is fixed.
  const bytes = ids.map((id) => Buffer.from(id, 'base64url'))
  for (let bit = 0; bit < 128; bit++) {
    const ones = bytes.filter((id) => ((id[bit >> 3]! >> (bit & 7)) & 1) === 1).length
    assert.ok(ones > 300 && ones < 700, `bit ${bit}: ${ones} of ${ids.length}`)
  }
})

test('the smaller of two deadlines counts', () => {
  assert.equal(deadlineOf(request({}), 500), 500)
  assert.equal(deadlineOf(request({ 'x-deadline-ms': '300' }), 500), 300)
  assert.equal(deadlineOf(request({ 'x-deadline-ms': '600' }), 500), 500)
  for (const bad of ['0', '-1', '1.5', '1e3', '', 'soon', '0x10', '12345678901', ['1', '2']]) {
    refuses(
      () => deadlineOf(request({ 'x-deadline-ms': bad }), 500),
      /^X-Deadline-Ms: expected a whole number of milliseconds of at least 1\.$/,
    )
  }
})
