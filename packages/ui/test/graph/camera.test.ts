import assert from 'node:assert/strict'
import { test } from 'node:test'
import { centre, fit, panBy, sees, smallest, zoomAt } from '../../src/graph/camera.ts'

const view = { width: 1_000, height: 600 }

test('V1 the point under the pointer stays when zooming', () => {
  const before = { x: 20, y: 30, zoom: 0.5 }
  const now = zoomAt(before, 1.7, 300, 200)
  assert.ok(Math.abs(before.x + 300 / before.zoom - (now.x + 300 / now.zoom)) < 1e-9)
  assert.ok(Math.abs(before.y + 200 / before.zoom - (now.y + 200 / now.zoom)) < 1e-9)
})

test('V2 a fitted drawing is seen as a whole, or from its start where that would be too small', () => {
  const camera = fit({ width: 4_000, height: 2_000 }, view)
  assert.ok(sees(camera, view, 10, 1_000) && sees(camera, view, 3_990, 1_000))
  assert.equal(fit({ width: 100, height: 50 }, view).zoom, 1)
  assert.equal(fit({ width: 1e7, height: 1e7 }, view).zoom, smallest)
  const floored = fit({ width: 40_000, height: 200 }, view, 0.5)
  assert.equal(floored.zoom, 0.5)
  assert.ok(sees(floored, view, 20, 100))
})

test('V3 centre puts a point into the middle', () => {
  const camera = centre({ x: 0, y: 0, zoom: 2 }, view, 700, 80)
  assert.deepEqual([(700 - camera.x) * 2, (80 - camera.y) * 2, camera.zoom], [500, 300, 2])
  assert.deepEqual(panBy({ x: 0, y: 0, zoom: 2 }, 10, -4), { x: 5, y: -2, zoom: 2 })
})
