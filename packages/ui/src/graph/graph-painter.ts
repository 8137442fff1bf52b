/**
 * Draws a laid-out graph on a canvas. Only the visible part is drawn; below a zoom at which text could be read nodes
 * are plain rectangles, and edges are thinned out so that a frame has a bounded number of them.
 */
import { nodeStates } from '../api/contract.ts'
import { markOf } from '../parts/marks.ts'
import type { Camera } from './camera.ts'
import type { Folded } from './fold-graph.ts'
import type { Layout } from './layout.ts'

export const nodeWidth = 168
export const nodeHeight = 30
const mostEdges = 12_000
const textZoom = 0.42
/** Pixels below which a name cannot be read: it is cut rather than made smaller. */
const smallestText = 9

export interface GraphPicture {
  readonly layout: Layout
  readonly folded: Folded
  readonly camera: Camera
  readonly width: number
  readonly height: number
  /** Counts of each state (by index) of a group. */
  readonly stateOf: (group: number) => number
  readonly shares: (group: number) => readonly (readonly [state: number, share: number])[]
  readonly selected: number
  /** 1 for each group that is in focus; absent: all are. */
  readonly focus: Uint8Array | undefined
  readonly isCritical: (group: number) => boolean
  readonly isCriticalEdge: (from: number, to: number) => boolean
}

export interface GraphColours {
  readonly surface: string
  readonly line: string
  readonly lineStrong: string
  readonly text: string
  readonly quiet: string
  readonly accent: string
  readonly states: readonly string[]
  readonly grounds: readonly string[]
  readonly texts: readonly string[]
  readonly font: string
}

export function paintGraph(
  context: CanvasRenderingContext2D,
  picture: GraphPicture,
  colours: GraphColours,
): void {
  const { layout, camera, width, height } = picture
  context.clearRect(0, 0, width, height)
  const left = camera.x - nodeWidth
  const right = camera.x + width / camera.zoom + nodeWidth
  const top = camera.y - nodeHeight
  const bottom = camera.y + height / camera.zoom + nodeHeight
  paintEdges(context, picture, colours, [left, right, top, bottom])
  for (let node = 0; node < layout.count; node++) {
    const x = layout.x[node]!
    const y = layout.y[node]!
    if (x < left || x > right || y < top || y > bottom) continue
    paintNode(
      context,
      picture,
      colours,
      node,
      (x - camera.x) * camera.zoom,
      (y - camera.y) * camera.zoom,
    )
  }
  context.globalAlpha = 1
}

function paintEdges(
  context: CanvasRenderingContext2D,
  picture: GraphPicture,
  colours: GraphColours,
  [left, right, top, bottom]: readonly [number, number, number, number],
): void {
  const { layout, folded, camera, focus } = picture
  const { offsets, after } = folded.edges
  const stride = Math.max(1, Math.ceil(after.length / mostEdges))
  const half = nodeWidth / 2
  const strong: [number, number][] = []
  context.lineWidth = camera.zoom < textZoom ? 1 : 1.3
  context.strokeStyle = colours.lineStrong
  context.globalAlpha = camera.zoom < textZoom ? 0.55 : 0.9
  context.beginPath()
  for (let node = 0; node < layout.count; node++) {
    for (let i = offsets[node]!; i < offsets[node + 1]!; i++) {
      const from = after[i]!
      const isStrong =
        picture.isCriticalEdge(from, node) ||
        node === picture.selected ||
        from === picture.selected ||
        (focus !== undefined && focus[node] === 1 && focus[from] === 1)
      if (isStrong) {
        strong.push([from, node])
        continue
      }
      if (i % stride !== 0 || focus !== undefined) continue
      curve(context, picture, from, node, half, left, right, top, bottom)
    }
  }
  context.stroke()
  context.globalAlpha = 1
  for (const [from, node] of strong.slice(0, mostEdges)) {
    const isSelected = node === picture.selected || from === picture.selected
    context.strokeStyle = isSelected ? colours.accent : colours.text
    context.lineWidth = 1.8
    context.beginPath()
    curve(context, picture, from, node, half, left, right, top, bottom)
    context.stroke()
  }
}

function curve(
  context: CanvasRenderingContext2D,
  { layout, camera }: GraphPicture,
  from: number,
  node: number,
  half: number,
  left: number,
  right: number,
  top: number,
  bottom: number,
): void {
  const x1 = layout.x[from]! + half
  const y1 = layout.y[from]!
  const x2 = layout.x[node]! - half
  const y2 = layout.y[node]!
  if (Math.max(x1, x2) < left || Math.min(x1, x2) > right) return
  if (Math.max(y1, y2) < top || Math.min(y1, y2) > bottom) return
  const ax = (x1 - camera.x) * camera.zoom
  const ay = (y1 - camera.y) * camera.zoom
  const bx = (x2 - camera.x) * camera.zoom
  const by = (y2 - camera.y) * camera.zoom
  const bend = Math.max(12, (bx - ax) / 2)
  context.moveTo(ax, ay)
  context.bezierCurveTo(ax + bend, ay, bx - bend, by, bx, by)
}

function paintNode(
  context: CanvasRenderingContext2D,
  picture: GraphPicture,
  colours: GraphColours,
  node: number,
  px: number,
  py: number,
): void {
  const { camera, folded } = picture
  const { zoom } = camera
  const state = picture.stateOf(node)
  const width = nodeWidth * zoom
  const height = nodeHeight * zoom
  const left = px - width / 2
  const top = py - height / 2
  context.globalAlpha = picture.focus === undefined || picture.focus[node] === 1 ? 1 : 0.18
  if (zoom < textZoom) {
    context.fillStyle = colours.states[state]!
    context.fillRect(left, top, Math.max(2, width), Math.max(2, height))
    if (node === picture.selected)
      frame(context, left - 2, top - 2, width + 4, height + 4, 2, colours.accent, 2)
    return
  }
  const radius = 6 * zoom
  context.fillStyle = colours.surface
  box(context, left, top, width, height, radius)
  context.fill()
  context.fillStyle = colours.grounds[state]!
  box(context, left, top, width, height, radius)
  context.fill()
  const isSelected = node === picture.selected
  const border = isSelected
    ? colours.accent
    : picture.isCritical(node)
      ? colours.text
      : colours.states[state]!
  frame(
    context,
    left,
    top,
    width,
    height,
    radius,
    border,
    isSelected || picture.isCritical(node) ? 2 : 1,
  )
  const inset = 9 * zoom
  paintMark(context, state, colours.texts[state]!, left + inset + 3 * zoom, py, zoom)
  const group = folded.groups[node]!
  const size = group.members.length
  const count = size > 1 ? size.toLocaleString('en-US') : ''
  context.font = `500 ${Math.max(smallestText, 12 * zoom)}px ${colours.font}`
  context.textBaseline = 'middle'
  context.fillStyle = colours.quiet
  const countWidth = count === '' ? 0 : context.measureText(count).width + 8 * zoom
  if (count !== '') context.fillText(count, left + width - inset - countWidth + 8 * zoom, py)
  context.fillStyle = colours.text
  const textLeft = left + inset + 13 * zoom
  context.fillText(
    shorten(context, group.name, width - 2 * inset - 13 * zoom - countWidth),
    textLeft,
    py,
  )
  if (size > 1)
    paintShares(context, picture, colours, node, left, top + height - 3 * zoom, width, 3 * zoom)
}

const paths = new Map<string, Path2D>()

/** The mark of a state around a point: colours alone are not seen by everyone. */
function paintMark(
  context: CanvasRenderingContext2D,
  state: number,
  colour: string,
  x: number,
  y: number,
  zoom: number,
): void {
  const { d, dash = [] } = markOf(nodeStates[state] ?? 'waiting')
  const path = paths.get(d) ?? new Path2D(d)
  paths.set(d, path)
  context.save()
  context.translate(x - 6 * zoom, y - 6 * zoom)
  context.scale(zoom, zoom)
  context.lineWidth = 1.6
  context.lineCap = 'round'
  context.lineJoin = 'round'
  context.strokeStyle = colour
  context.setLineDash([...dash])
  context.stroke(path)
  context.restore()
}

function paintShares(
  context: CanvasRenderingContext2D,
  picture: GraphPicture,
  colours: GraphColours,
  node: number,
  left: number,
  top: number,
  width: number,
  height: number,
): void {
  let at = left
  for (const [state, share] of picture.shares(node)) {
    context.fillStyle = colours.states[state]!
    context.fillRect(at, top, width * share, height)
    at += width * share
  }
}

function box(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  radius: number,
): void {
  context.beginPath()
  context.roundRect(x, y, width, height, radius)
}

function frame(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  radius: number,
  colour: string,
  line: number,
): void {
  context.strokeStyle = colour
  context.lineWidth = line
  box(context, x, y, width, height, radius)
  context.stroke()
}

/** Cuts a text in its middle: names differ at both ends. */
function shorten(context: CanvasRenderingContext2D, text: string, width: number): string {
  if (context.measureText(text).width <= width) return text
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (context.measureText(cut(text, middle)).width <= width) low = middle
    else high = middle - 1
  }
  return cut(text, low)
}

function cut(text: string, length: number): string {
  const head = Math.ceil(length / 2)
  return `${text.slice(0, head)}…${text.slice(text.length - (length - head))}`
}
