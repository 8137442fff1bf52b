import assert from 'node:assert/strict'
import test from 'node:test'
import type { Lane } from '../../src/capacity/lane.ts'
import type { NodeAttempt } from '../../src/scheduler/node-attempt.ts'
import { Node } from '../../src/scheduler/node.ts'
import { ownerOf, Part, type PartOptions } from '../../src/scheduler/part.ts'

const lane = {} as Lane<Node>
const limits = { retries: 0, timeout: Infinity }

function newPart(parent: Node, kind: PartOptions['kind'], path: string): Part {
  const starter = { entry: parent } as NodeAttempt
  return new Part(starter, { path, kind, call: () => undefined, onEnd: () => {} }, lane, limits)
}

test('a step below 3,000 others finds its node and its owner without a walk up to them', () => {
  const node = new Node(0, 'map', lane, limits)
  const element = newPart(node, 'element', '[7]')
  let reads = 0
  const countReads = (part: Part): Part =>
    new Proxy(part, {
      get: (target, key): unknown => {
        if (key === 'starter') reads++
        return Reflect.get(target, key)
      },
    })
  let deepest = countReads(element)
  for (let level = 0; level < 3_000; level++) {
    deepest = countReads(newPart(deepest, 'step', `[7]/run:step#${level}`))
  }
  assert.equal(deepest.root, node)
  assert.equal(ownerOf(deepest), element)
  assert.equal(deepest.name, 'map[7]/run:step#2999')
  assert.equal(reads, 0)
})

test('an element is its own owner, a node is the owner of its steps', () => {
  const node = new Node(0, 'order', lane, limits)
  const element = newPart(node, 'element', '[0]')
  const step = newPart(node, 'step', 'run:pay#0')
  assert.equal(ownerOf(node), node)
  assert.equal(ownerOf(element), element)
  assert.equal(ownerOf(step), node)
  assert.equal(step.name, 'order run:pay#0')
})
