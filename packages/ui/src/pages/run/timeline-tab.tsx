/** The timeline of a run: a row for each lane (the loop, threads, workers) or for each node, on one canvas. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useKeys } from '../../app/actions.ts'
import { address, setQuery } from '../../app/address.ts'
import { attemptOutcomes } from '../../api/contract.ts'
import { browserClock } from '../../kernel/clock.ts'
import { drag } from '../../parts/drag.ts'
import { colours } from '../../parts/colours.ts'
import { formatDuration } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { useNow } from '../../parts/now.ts'
import { Empty } from '../../parts/placeholders.tsx'
import { Rows, rowsByNode } from '../../timeline/lanes.ts'
import { paintBars } from '../../timeline/timeline-painter.ts'
import { foldingFor, idleGaps, ticks, TimeScale } from '../../timeline/scale.ts'
import { follow, pan, reveal, whole, zoom, type TimeWindow } from '../../timeline/window.ts'
import { fitCanvas, useSize, type Size } from '../../parts/size.ts'
import type { RunView } from './run-view.ts'

const rowHeight = 24
const axisHeight = 26
const stripHeight = 16
/** Pixels behind the end of the run: its last attempt may be short. */
const rightMargin = 14
/** Pixels between two marks of the axis. */
const tickDistance = 90
/** A drawing that takes longer than this is moved as a picture while the reader drags. */
const slowDrawing = 10

interface Model {
  readonly rows: Rows
  readonly labels: (row: number) => { readonly title: string; readonly place: string }
  /** The row of a node, where rows are nodes. */
  readonly rowOf: (node: number) => number | undefined
  readonly scale: TimeScale
}

function useModel(view: RunView, byNode: boolean, foldIdle: boolean): Model {
  const { store } = view
  const version = store.version.value
  // Bars of running attempts grow, also without events.
  const moment = useNow(store.isLive)
  return useMemo(() => {
    const { bars, nodes } = store
    const length = view.now
    const gaps = idleGaps(bars.started, endsOf(view), bars.count, length)
    const folding = foldIdle ? foldingFor(length, gaps) : { foldFrom: Infinity, foldTo: 1 }
    const scale = new TimeScale(length, gaps, folding)
    if (!byNode) {
      const rows = new Rows(
        { count: bars.count, row: bars.lane, started: bars.started, ended: endsOf(view) },
        bars.lanes.length,
      )
      return {
        rows,
        scale,
        rowOf: () => undefined,
        labels: (row) => ({
          title: bars.lanes[row]?.name ?? '',
          place: bars.lanes[row]?.place ?? 'loop',
        }),
      }
    }
    const row = new Int32Array(bars.count)
    const found = rowsByNode(bars.node, bars.count, row)
    const rows = new Rows(
      { count: bars.count, row, started: bars.started, ended: endsOf(view) },
      found.count,
    )
    return {
      rows,
      scale,
      rowOf: (node) => {
        const row_ = found.nodes.indexOf(node)
        return row_ < 0 ? undefined : row_
      },
      labels: (index) => {
        const node = found.nodes[index]!
        return { title: nodes.names[node] ?? '', place: nodes.placeOf(node) }
      },
    }
  }, [version, moment, byNode, foldIdle])
}

/** Ends of attempts; running attempts reach to now. */
function endsOf(view: RunView): Float64Array {
  const { bars } = view.store
  const ends = bars.ended.slice(0, bars.count)
  if (!view.store.isLive) return ends
  const now = view.now
  for (let bar = 0; bar < bars.count; bar++) if (bars.outcome[bar] === 0) ends[bar] = now
  return ends
}

export function TimelineTab({ view }: { readonly view: RunView }): JSX.Element {
  const byNode = address.value.query['rows'] === 'node'
  const foldIdle = address.value.query['idle'] !== 'shown'
  const model = useModel(view, byNode, foldIdle)
  const { rows, scale, labels } = model
  const area = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const size = useSize(area)
  const window_ = useSignal<TimeWindow>(whole(scale.shownLength))
  const lengthBefore = useRef(scale.shownLength)
  const scroll = useSignal(0)
  const hover = useSignal<
    { readonly bar: number; readonly x: number; readonly y: number } | undefined
  >(undefined)
  const current = useRef<{ row: number; bar: number }>({ row: 0, bar: -1 })
  const picture = useRef<{ window: TimeWindow; milliseconds: number } | undefined>(undefined)
  const settle = useRef<() => void>(() => {})

  if (lengthBefore.current !== scale.shownLength) {
    window_.value = follow(window_.peek(), lengthBefore.current, scale.shownLength)
    lengthBefore.current = scale.shownLength
  }
  const labelWidth = size.width < 560 ? 100 : byNode ? 220 : 128
  const plotWidth = Math.max(40, Math.floor(size.width - labelWidth - rightMargin))
  const bodyHeight = Math.max(0, size.height - axisHeight - stripHeight)
  const { from, to } = window_.value
  const perPixel = (to - from) / plotWidth
  const selectedNode = view.store.nodes.indexOf.get(view.selected.value ?? '') ?? -1
  const moment = view.at.value
  const firstRow = Math.max(0, Math.floor(scroll.value / rowHeight))
  const rowCount = Math.ceil(bodyHeight / rowHeight) + 1

  const colour = colours()
  // Before the frame that shows the change: an effect would draw after it, and be seen a frame later.
  useLayoutEffect(() => {
    const element = canvas.current
    if (element === null || !size.isKnown) return
    const context = element.getContext('2d')!
    const ratio = globalThis.devicePixelRatio || 1
    const height = Math.max(1, bodyHeight)
    fitCanvas(element, plotWidth, height, ratio)
    const started = performanceNow()
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    context.clearRect(0, 0, plotWidth, height)
    context.fillStyle = colour.line
    for (const time of ticks(scale, from, to, tickDistance * perPixel)) {
      context.fillRect(Math.round((scale.toShown(time) - from) / perPixel), 0, 1, height)
    }
    context.fillStyle = colour.sunken
    for (const fold of scale.folds) {
      const left = (fold.shown - from) / perPixel
      const right = (scale.toShown(fold.to) - from) / perPixel
      context.fillRect(left, 0, right - left, height)
    }
    paintBars(
      context,
      {
        bars: view.store.bars,
        rows,
        scale,
        from,
        to,
        width: plotWidth,
        firstRow,
        rowCount,
        rowHeight,
        offset: scroll.value - firstRow * rowHeight,
        now: view.now,
        slack: view.store.nodes.slack,
        selectedNode,
      },
      {
        succeeded: colour.states[4]!,
        failed: colour.states[5]!,
        cancelled: colour.states[8]!,
        interrupted: colour.states[3]!,
        running: colour.states[2]!,
        suspended: colour.states[9]!,
        wait: colour.lineStrong,
        critical: colour.text,
        selected: colour.accent,
      },
    )
    if (moment !== undefined) {
      const at = Math.round((scale.toShown(moment) - from) / perPixel)
      context.globalAlpha = 0.72
      context.fillStyle = colour.surface
      context.fillRect(at, 0, Math.max(0, plotWidth - at), height)
      context.globalAlpha = 1
      context.fillStyle = colour.accent
      context.fillRect(at - 1, 0, 2, height)
    }
    picture.current = { window: window_.peek(), milliseconds: performanceNow() - started }
    element.style.transform = ''
  }, [model, size.width, size.height, from, to, scroll.value, selectedNode, moment, colour])

  /** While a drawing is slow, the last one is moved, and drawn again when the reader rests. */
  const panBy = (pixels: number): void => {
    const next = pan(window_.peek(), scale.shownLength, pixels * perPixel)
    if ((picture.current?.milliseconds ?? 0) < slowDrawing) {
      window_.value = next
      return
    }
    moving.current = next
    const drawn = picture.current!.window
    canvas.current!.style.transform = `translateX(${(drawn.from - next.from) / perPixel}px)`
    settle.current()
    settle.current = browserClock.setTimer(120, () => {
      if (moving.current !== undefined) window_.value = moving.current
      moving.current = undefined
    })
  }
  const moving = useRef<TimeWindow | undefined>(undefined)
  const zoomAt = (factor: number, at: number): void => {
    window_.value = zoom(window_.peek(), scale.shownLength, factor, at)
  }
  const barUnder = (event: MouseEvent): { bar: number; x: number; y: number } | undefined => {
    const box = canvas.current!.getBoundingClientRect()
    const x = event.clientX - box.left
    const y = event.clientY - box.top
    const row = Math.floor((y + scroll.peek()) / rowHeight)
    if (row < 0 || row >= rows.count) return undefined
    const time = scale.toTime(from + x * perPixel)
    const tolerance = scale.toTime(from + (x + 4) * perPixel) - time
    const bar = rows.barAt(row, time, tolerance)
    return bar === undefined
      ? undefined
      : { bar, x: x + labelWidth, y: y + axisHeight + stripHeight }
  }
  const selectBar = (bar: number): void => {
    const { bars, nodes } = view.store
    view.select(nodes.names[bars.node[bar]!])
    const shownFrom = scale.toShown(bars.started[bar]!)
    const shownTo = scale.toShown(bars.outcome[bar] === 0 ? view.now : bars.ended[bar]!)
    window_.value = reveal(window_.peek(), scale.shownLength, shownFrom, shownTo)
  }
  const step = (rowBy: number, barBy: number): void => {
    const at = current.current
    const row = Math.max(0, Math.min(rows.count - 1, at.row + rowBy))
    const list = rows.barsOf(row)
    if (list.length === 0) return
    const place = Math.max(0, list.indexOf(at.bar))
    const next =
      rowBy === 0 ? Math.max(0, Math.min(list.length - 1, at.bar < 0 ? 0 : place + barBy)) : 0
    current.current = { row, bar: list[next]! }
    const top = row * rowHeight
    if (top < scroll.peek()) scrollTo(top)
    else if (top + rowHeight > scroll.peek() + bodyHeight) scrollTo(top + rowHeight - bodyHeight)
    selectBar(list[next]!)
  }
  const scrollTo = (top: number): void => {
    area.current?.querySelector('.timeline-scroll')?.scrollTo({ top })
  }
  // A node that the address names, or that another view has selected, is brought into view.
  const hasRows = rows.count > 0
  useEffect(() => {
    const row = selectedNode < 0 ? undefined : model.rowOf(selectedNode)
    if (row === undefined || bodyHeight <= 0) return
    const top = row * rowHeight
    const isShown = top >= scroll.peek() && top + rowHeight <= scroll.peek() + bodyHeight
    if (!isShown) scrollTo(Math.max(0, top - bodyHeight / 2))
  }, [selectedNode, byNode, hasRows, bodyHeight > 0])
  useKeys(
    [
      { keys: '+', label: 'Zoom in', group: 'Timeline', run: () => zoomAt(0.6, 0.5) },
      { keys: '-', label: 'Zoom out', group: 'Timeline', run: () => zoomAt(1 / 0.6, 0.5) },
      {
        keys: '0',
        label: 'Show the whole run',
        group: 'Timeline',
        run: () => (window_.value = whole(scale.shownLength)),
      },
      { keys: 'h', label: 'Earlier', group: 'Timeline', run: () => panBy(-plotWidth / 4) },
      { keys: 'l', label: 'Later', group: 'Timeline', run: () => panBy(plotWidth / 4) },
    ],
    [model, from, to],
  )
  if (view.store.bars.count === 0) {
    return (
      <Empty title={view.store.isLive ? 'Nothing has started yet' : 'Nothing ran'}>
        <p>
          {view.store.isLive
            ? 'Attempts appear here as soon as the first node runs.'
            : 'No node of this run was started.'}
        </p>
      </Empty>
    )
  }
  const hovered = hover.value
  return (
    <div class="timeline">
      <div class="row tools">
        <div class="segmented" role="group" aria-label="Rows">
          <button
            type="button"
            aria-pressed={!byNode}
            onClick={() => setQuery({ rows: undefined })}
          >
            Places
          </button>
          <button type="button" aria-pressed={byNode} onClick={() => setQuery({ rows: 'node' })}>
            Nodes
          </button>
        </div>
        <button
          class="button small"
          type="button"
          aria-pressed={foldIdle}
          onClick={() => setQuery({ idle: foldIdle ? 'shown' : undefined })}
        >
          Fold idle time
        </button>
        <span class="grow" />
        <Legend view={view} />
        <button
          class="button small"
          type="button"
          aria-label="Zoom out"
          onClick={() => zoomAt(1 / 0.6, 0.5)}
        >
          {icons.minus}
        </button>
        <button
          class="button small"
          type="button"
          aria-label="Zoom in"
          onClick={() => zoomAt(0.6, 0.5)}
        >
          {icons.plus}
        </button>
        <button
          class="button small"
          type="button"
          aria-label="Show the whole run"
          onClick={() => (window_.value = whole(scale.shownLength))}
        >
          {icons.fit}
        </button>
      </div>
      <div
        class="timeline-area"
        ref={area}
        onWheel={(event) => {
          const box = canvas.current!.getBoundingClientRect()
          if (event.ctrlKey || event.metaKey) {
            event.preventDefault()
            zoomAt(
              Math.exp(event.deltaY / 200),
              Math.min(1, Math.max(0, (event.clientX - box.left) / plotWidth)),
            )
          } else if (event.deltaX !== 0 || event.shiftKey) {
            event.preventDefault()
            panBy(event.deltaX === 0 ? event.deltaY : event.deltaX)
          }
        }}
      >
        <Axis scale={scale} window={window_.value} left={labelWidth} width={plotWidth} />
        <LoopStrip
          view={view}
          scale={scale}
          window={window_.value}
          left={labelWidth}
          width={plotWidth}
        />
        <div
          class="timeline-scroll"
          tabIndex={0}
          role="group"
          aria-label="Timeline. Arrow keys move between attempts; the table of nodes has the same."
          onKeyDown={(event) => {
            if (event.key === 'ArrowRight') step(0, 1)
            else if (event.key === 'ArrowLeft') step(0, -1)
            else if (event.key === 'ArrowDown') step(1, 0)
            else if (event.key === 'ArrowUp') step(-1, 0)
            else return
            event.preventDefault()
          }}
          style={{ height: `${bodyHeight}px` }}
          onScroll={(event) => (scroll.value = event.currentTarget.scrollTop)}
        >
          <div
            class="timeline-rows"
            style={{ height: `${Math.max(bodyHeight, rows.count * rowHeight)}px` }}
          >
            <div class="timeline-view" style={{ height: `${bodyHeight}px` }}>
              <div
                class="timeline-labels"
                style={{
                  width: `${labelWidth}px`,
                  transform: `translateY(${firstRow * rowHeight - scroll.value}px)`,
                }}
              >
                {Array.from(
                  { length: Math.max(0, Math.min(rowCount, rows.count - firstRow)) },
                  (_, i) => {
                    const { title, place } = labels(firstRow + i)
                    return (
                      <div key={firstRow + i} class="timeline-label" title={title}>
                        <i class={place} aria-hidden="true" />
                        <span class="cut">{title}</span>
                      </div>
                    )
                  },
                )}
              </div>
              <canvas
                ref={canvas}
                class="timeline-canvas"
                style={{
                  left: `${labelWidth}px`,
                  width: `${plotWidth}px`,
                  height: `${bodyHeight}px`,
                }}
                onPointerDown={(event) => drag(event, panBy)}
                onMouseMove={(event) =>
                  (hover.value = event.buttons === 0 ? barUnder(event) : undefined)
                }
                onMouseLeave={() => (hover.value = undefined)}
                onClick={(event) => {
                  const found = barUnder(event)
                  if (found !== undefined) selectBar(found.bar)
                }}
              />
            </div>
          </div>
        </div>
        {hovered !== undefined && (
          <BarTip view={view} bar={hovered.bar} x={hovered.x} y={hovered.y} area={size} />
        )}
      </div>
    </div>
  )
}

const performanceNow = (): number => globalThis.performance.now()

interface AxisProps {
  readonly scale: TimeScale
  readonly window: TimeWindow
  readonly left: number
  readonly width: number
}

function Axis({ scale, window: shown, left, width }: AxisProps): JSX.Element {
  const perPixel = (shown.to - shown.from) / width
  return (
    <div class="timeline-axis" style={{ height: `${axisHeight}px` }} aria-hidden="true">
      {ticks(scale, shown.from, shown.to, tickDistance * perPixel).map((time) => {
        const x = (scale.toShown(time) - shown.from) / perPixel
        if (x > width - 34) return null
        return (
          <span key={time} class="num" style={{ left: `${left + x}px` }}>
            {formatDuration(time)}
          </span>
        )
      })}
      {scale.folds.map((fold) => {
        const x = (fold.shown - shown.from) / perPixel
        const end = (scale.toShown(fold.to) - shown.from) / perPixel
        if (x < 0 || x > width) return null
        return (
          <b
            key={fold.from}
            style={{ left: `${left + x}px`, width: `${end - x}px` }}
            title={`${formatDuration(fold.to - fold.from)} in which nothing ran`}
          >
            ≈
          </b>
        )
      })}
    </div>
  )
}

/** Where the event loop was held up, and by what. */
function LoopStrip({
  view,
  scale,
  window: shown,
  left,
  width,
}: AxisProps & { readonly view: RunView }): JSX.Element {
  const perPixel = (shown.to - shown.from) / width
  const gaps = view.store.bars.loopGaps.filter(
    ([from, to]) => scale.toShown(to) >= shown.from && scale.toShown(from) <= shown.to,
  )
  return (
    <div class="loop-strip" style={{ height: `${stripHeight}px` }}>
      <span class="quiet">loop gaps</span>
      {gaps.slice(0, 400).map(([from, to, blame]) => {
        const x = Math.max(0, (scale.toShown(from) - shown.from) / perPixel)
        const end = Math.min(width, (scale.toShown(to) - shown.from) / perPixel)
        const words = `The loop was blocked for ${formatDuration(to - from)}${blame === '' ? '' : ` by ${blame}`}`
        return (
          <i
            key={from}
            style={{ left: `${left + x}px`, width: `${Math.max(2, end - x)}px` }}
            role="img"
            aria-label={words}
            title={words}
          />
        )
      })}
    </div>
  )
}

/** Outcomes that are explained only where there are some. */
const rare = ['cancelled', 'interrupted'] as const

function Legend({ view }: { readonly view: RunView }): JSX.Element {
  const { bars } = view.store
  const outcomes = bars.outcome.subarray(0, bars.count)
  return (
    <ul class="legend hide-small" aria-label="Colours">
      <li>
        <i class="wait" /> waits for a permit
      </li>
      <li>
        <i class="running" /> running
      </li>
      <li>
        <i class="succeeded" /> succeeded
      </li>
      <li>
        <i class="failed" /> failed
      </li>
      <li>
        <i class="suspended" /> suspended
      </li>
      {rare
        .filter((outcome) => outcomes.includes(attemptOutcomes.indexOf(outcome)))
        .map((outcome) => (
          <li key={outcome}>
            <i class={outcome} /> {outcome}
          </li>
        ))}
      <li>
        <i class="critical" /> critical path
      </li>
    </ul>
  )
}

interface TipProps {
  readonly view: RunView
  readonly bar: number
  readonly x: number
  readonly y: number
  readonly area: Size
}

function BarTip({ view, bar, x, y, area }: TipProps): JSX.Element {
  const { bars, nodes } = view.store
  const node = bars.node[bar]!
  const end = bars.outcome[bar] === 0 ? view.now : bars.ended[bar]!
  const wait = bars.started[bar]! - bars.queued[bar]!
  const slack = nodes.slack[node]!
  const error = nodes.errors.get(node)
  return (
    <div
      class="tip"
      // Where there is room for it: below the pointer in the upper half, above it in the lower one.
      style={{
        left: `${Math.max(0, Math.min(x + 12, area.width - 260))}px`,
        ...(y < area.height / 2 ? { top: `${y + 16}px` } : { bottom: `${area.height - y + 8}px` }),
      }}
      role="tooltip"
    >
      <b>{nodes.names[node]}</b>
      <span>
        {attemptOutcomes[bars.outcome[bar]!]}, attempt {bars.attempt[bar]}
      </span>
      <span class="num">
        ran {formatDuration(end - bars.started[bar]!)}
        {wait > 0.5 && `, waited ${formatDuration(wait)}`}
      </span>
      {slack === 0 ? (
        <span>on the critical path</span>
      ) : (
        slack > 0 && <span class="num">slack {formatDuration(slack)}</span>
      )}
      {bars.outcome[bar] === 2 && error !== undefined && <span class="bad cut">{error}</span>}
    </div>
  )
}
