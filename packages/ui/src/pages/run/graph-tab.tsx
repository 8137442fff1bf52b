/** The graph of a run: laid out beside the page, drawn on a canvas, walked by keys. */
import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { useKeys } from '../../app/actions.ts'
import { address, setQuery } from '../../app/address.ts'
import { link } from '../../app/route.ts'
import { nodeStates, stateCode } from '../../api/contract.ts'
import { centre, fit, panBy, sees, zoomAt, type Camera, type Extent } from '../../graph/camera.ts'
import { reversed } from '../../graph/edges.ts'
import { fold, foldLimit, type Folded } from '../../graph/fold-graph.ts'
import type { Layout } from '../../graph/layout.ts'
import { Layouter } from '../../graph/layouter.ts'
import { nodeHeight, nodeWidth, paintGraph } from '../../graph/graph-painter.ts'
import { reach, type Direction } from '../../graph/reach.ts'
import { drag } from '../../parts/drag.ts'
import { colours } from '../../parts/colours.ts'
import { formatCount, plural } from '../../parts/format.ts'
import { icons } from '../../parts/icons.tsx'
import { Empty } from '../../parts/placeholders.tsx'
import { fitCanvas, useSize } from '../../parts/size.ts'
import type { RunView } from './run-view.ts'

/** At the start the drawing is not made smaller than this: rather a part that can be read than a whole that cannot. */
const readableZoom = 0.46

/** The state shown for a group of nodes in several states: the first of these that one of them has. */
const loudness = [5, 2, 3, 9, 10, 6, 8, 1, 0, 4, 7]

export function GraphTab({ view }: { readonly view: RunView }): JSX.Element {
  const { store } = view
  const version = store.version.value
  const query = address.value.query
  const opened = useSignal<ReadonlySet<string>>(new Set())
  const area = useRef<HTMLDivElement>(null)
  const canvas = useRef<HTMLCanvasElement>(null)
  const size = useSize(area)
  const camera = useSignal<Camera | undefined>(undefined)
  const layout = useSignal<{ readonly layout: Layout; readonly folded: Folded } | undefined>(
    undefined,
  )
  const isFollowing = query['follow'] === '1'
  const graphVersion = store.graphVersion

  const folded = useMemo(() => {
    const { edges, nodes } = store
    if (edges.count === 0) return undefined
    return fold(
      { edges, names: nodes.names, jobs: nodes.jobs, job: nodes.job, parent: nodes.parent },
      { opened: opened.value },
    )
  }, [graphVersion, opened.value])

  useEffect(() => {
    if (folded === undefined) return undefined
    // Groups that were opened or closed change the meaning of an index: only a graph that grew continues its layout.
    const before = layout.peek()
    const isGrown =
      before !== undefined &&
      before.folded.groups.every((group, i) => folded.groups[i]?.key === group.key)
    const layouter = new Layouter((made) => {
      layout.value = { layout: made, folded }
    })
    layouter.ask(folded.edges, isGrown ? before.layout : undefined)
    return () => layouter.stop()
  }, [folded])

  const shown = layout.value
  const drawing =
    shown === undefined
      ? undefined
      : { width: shown.layout.width + nodeWidth, height: shown.layout.height + nodeHeight }
  // A drawing arrives in pieces: it is fitted again until the user moves the view.
  const lastFit = useRef<Camera | undefined>(undefined)
  useEffect(() => {
    if (drawing === undefined || size.width <= 50 || camera.peek() !== lastFit.current) return
    lastFit.current = fitted(drawing, size, readableZoom)
    camera.value = lastFit.current
  }, [drawing?.width, drawing?.height, size.width, size.height])

  const states = view.states()
  const byGroup = useMemo(
    () => (shown === undefined ? [] : countByGroup(shown.folded, states)),
    [shown, version, view.at.value],
  )
  const selectedNode = store.nodes.indexOf.get(view.selected.value ?? '') ?? -1
  const selected =
    shown === undefined || selectedNode < 0 ? -1 : (shown.folded.groupOf[selectedNode] ?? -1)
  const direction = query['focus'] as Direction | undefined
  const focus = useMemo(
    () =>
      shown === undefined || direction === undefined || selected < 0
        ? undefined
        : reach(shown.folded.edges, selected, direction),
    [shown, direction, selected],
  )
  const critical = useMemo(() => {
    const names = store.head.peek()?.critical_path.nodes.map(({ name }) => name) ?? []
    const path = names.flatMap(
      (name) => shown?.folded.groupOf[store.nodes.indexOf.get(name) ?? -1] ?? [],
    )
    return {
      nodes: new Set(path),
      edges: new Set(path.slice(1).map((to, i) => `${path[i]} ${to}`)),
    }
  }, [shown, store.head.value?.critical_path])

  const colour = colours()
  // Before the frame that shows the change, as in the timeline.
  useLayoutEffect(() => {
    const element = canvas.current
    if (element === null || shown === undefined || camera.value === undefined) return
    const ratio = globalThis.devicePixelRatio || 1
    const width = Math.max(1, Math.floor(size.width))
    const height = Math.max(1, Math.floor(size.height))
    fitCanvas(element, width, height, ratio)
    const context = element.getContext('2d')!
    context.setTransform(ratio, 0, 0, ratio, 0, 0)
    paintGraph(
      context,
      {
        layout: shown.layout,
        folded: shown.folded,
        camera: camera.value,
        width,
        height,
        stateOf: (group) => loudness.find((state) => (byGroup[group]?.[state] ?? 0) > 0) ?? 0,
        shares: (group) => sharesOf(byGroup[group] ?? []),
        selected,
        focus,
        isCritical: (group) => critical.nodes.has(group),
        isCriticalEdge: (from, to) => critical.edges.has(`${from} ${to}`),
      },
      colour,
    )
  }, [shown, camera.value, byGroup, size.width, size.height, selected, focus, critical, colour])

  useEffect(() => {
    if (!isFollowing || shown === undefined || camera.peek() === undefined) return
    const running = byGroup.findIndex((counts) => (counts[stateCode.running] ?? 0) > 0)
    if (running < 0) return
    const x = shown.layout.x[running]!
    const y = shown.layout.y[running]!
    if (!sees(camera.peek()!, size, x, y))
      camera.value = centre(
        { ...camera.peek()!, zoom: Math.max(0.7, camera.peek()!.zoom) },
        size,
        x,
        y,
      )
  }, [byGroup, isFollowing])

  const choose = (group: number): void => {
    if (shown === undefined) return
    const { key, members } = shown.folded.groups[group]!
    if (members.length === 1) {
      view.select(store.nodes.names[members[0]!])
    } else {
      opened.value = new Set([...opened.peek(), key])
    }
  }
  const walk = (towards: 'left' | 'right' | 'up' | 'down'): void => {
    if (shown === undefined) return
    const next = neighbour(shown.layout, shown.folded, selected, towards)
    if (next === undefined) return
    const [first] = shown.folded.groups[next]!.members
    view.select(store.nodes.names[first!])
    const at = camera.peek()
    if (at !== undefined && !sees(at, size, shown.layout.x[next]!, shown.layout.y[next]!)) {
      camera.value = centre(at, size, shown.layout.x[next]!, shown.layout.y[next]!)
    }
  }
  const zoomBy = (factor: number): void => {
    if (camera.peek() !== undefined)
      camera.value = zoomAt(camera.peek()!, factor, size.width / 2, size.height / 2)
  }
  const showAll = (): void => {
    if (drawing !== undefined) camera.value = fitted(drawing, size)
  }
  const showSelected = (): void => {
    if (shown === undefined || selected < 0 || camera.peek() === undefined) return
    camera.value = centre(
      { ...camera.peek()!, zoom: Math.max(0.8, camera.peek()!.zoom) },
      size,
      shown.layout.x[selected]!,
      shown.layout.y[selected]!,
    )
  }
  useKeys(
    [
      { keys: '+', label: 'Zoom in', group: 'Graph', run: () => zoomBy(1.3) },
      { keys: '-', label: 'Zoom out', group: 'Graph', run: () => zoomBy(1 / 1.3) },
      { keys: '0', label: 'Show the whole graph', group: 'Graph', run: showAll },
      { keys: 's', label: 'Back to the selected node', group: 'Graph', run: showSelected },
      {
        keys: 'v',
        label: 'Follow what runs',
        group: 'Graph',
        run: () => setQuery({ follow: isFollowing ? undefined : '1' }),
      },
    ],
    [shown, size.width, size.height, selected, isFollowing],
  )
  if (store.nodes.count === 0) return <Empty title="The run has no nodes yet" />
  const isFolded = shown !== undefined && shown.folded.groups.length < store.nodes.count
  return (
    <div class="graph">
      <div class="row tools">
        <button
          class="button small"
          type="button"
          aria-pressed={isFollowing}
          onClick={() => setQuery({ follow: isFollowing ? undefined : '1' })}
        >
          Follow what runs
        </button>
        <div class="segmented" role="group" aria-label="Focus on the selected node">
          {([undefined, 'upstream', 'downstream', 'both'] as const).map((each) => (
            <button
              key={each ?? 'all'}
              type="button"
              disabled={selected < 0}
              aria-pressed={direction === each}
              onClick={() => setQuery({ focus: each })}
            >
              {each === undefined
                ? 'All'
                : each === 'upstream'
                  ? 'Leads to it'
                  : each === 'downstream'
                    ? 'Follows from it'
                    : 'Both'}
            </button>
          ))}
        </div>
        {opened.value.size > 0 && (
          <button class="button small" type="button" onClick={() => (opened.value = new Set())}>
            Fold again
          </button>
        )}
        <span class="grow" />
        <span
          class="quiet num hide-small size"
          title={
            isFolded
              ? `Above ${foldLimit} nodes groups are drawn. Select one to open it.`
              : undefined
          }
        >
          {isFolded
            ? `${plural(store.nodes.count, 'node')} in ${plural(shown.folded.groups.length, 'group')}`
            : plural(store.nodes.count, 'node')}
        </span>
        <a class="button small" href={link(['runs', store.id, 'nodes'], query)}>
          As a table
        </a>
        <button
          class="button small"
          type="button"
          aria-label="Zoom out"
          onClick={() => zoomBy(1 / 1.3)}
        >
          {icons.minus}
        </button>
        <button class="button small" type="button" aria-label="Zoom in" onClick={() => zoomBy(1.3)}>
          {icons.plus}
        </button>
        <button
          class="button small"
          type="button"
          aria-label="Back to the selected node"
          disabled={selected < 0}
          onClick={showSelected}
        >
          {icons.target}
        </button>
        <button
          class="button small"
          type="button"
          aria-label="Show the whole graph"
          onClick={showAll}
        >
          {icons.fit}
        </button>
      </div>
      <div
        class="graph-area"
        ref={area}
        aria-busy={camera.value === undefined}
        tabIndex={0}
        role="group"
        aria-label={`Graph of ${formatCount(store.nodes.count)} nodes. Arrow keys walk along dependencies; the table of nodes has the same.`}
        onKeyDown={(event) => {
          const towards = (
            { ArrowLeft: 'left', ArrowRight: 'right', ArrowUp: 'up', ArrowDown: 'down' } as const
          )[event.key as 'ArrowLeft']
          if (towards !== undefined) walk(towards)
          else if (event.key === 'Enter' && selected >= 0) choose(selected)
          else return
          event.preventDefault()
        }}
        onWheel={(event) => {
          if (camera.peek() === undefined) return
          event.preventDefault()
          const box = canvas.current!.getBoundingClientRect()
          if (event.ctrlKey || event.metaKey) {
            camera.value = zoomAt(
              camera.peek()!,
              Math.exp(-event.deltaY / 200),
              event.clientX - box.left,
              event.clientY - box.top,
            )
          } else {
            camera.value = panBy(camera.peek()!, event.deltaX, event.deltaY)
          }
        }}
      >
        <canvas
          ref={canvas}
          style={{ width: `${Math.floor(size.width)}px`, height: `${Math.floor(size.height)}px` }}
          onPointerDown={(event) =>
            drag(event, (x, y) => (camera.value = camera.peek() && panBy(camera.peek()!, x, y)))
          }
          onClick={(event) => {
            const at = camera.peek()
            if (at === undefined || shown === undefined) return
            const box = canvas.current!.getBoundingClientRect()
            const found = groupAt(
              shown.layout,
              at.x + (event.clientX - box.left) / at.zoom,
              at.y + (event.clientY - box.top) / at.zoom,
            )
            if (found !== undefined) choose(found)
          }}
        />
      </div>
    </div>
  )
}

/** Places are those of the middle of nodes: the drawing begins half a node before the first. */
function fitted(drawing: Extent, view: Extent, floor?: number): Camera {
  const camera = fit(drawing, view, floor)
  return { ...camera, x: camera.x - nodeWidth / 2, y: camera.y - nodeHeight / 2 }
}

function countByGroup(folded: Folded, states: Uint8Array): number[][] {
  const counts = folded.groups.map(() => Array.from({ length: nodeStates.length }, () => 0))
  for (let node = 0; node < folded.groupOf.length; node++)
    counts[folded.groupOf[node]!]![states[node]!]!++
  return counts
}

function sharesOf(counts: readonly number[]): (readonly [number, number])[] {
  const total = counts.reduce((sum, count) => sum + count, 0)
  return [4, 5, 6, 8, 7, 3, 9, 2, 1, 10, 0].flatMap((state) =>
    (counts[state] ?? 0) > 0 ? [[state, counts[state]! / total] as const] : [],
  )
}

function groupAt(layout: Layout, x: number, y: number): number | undefined {
  for (let node = 0; node < layout.count; node++) {
    if (
      Math.abs(layout.x[node]! - x) <= nodeWidth / 2 &&
      Math.abs(layout.y[node]! - y) <= nodeHeight / 2
    )
      return node
  }
  return undefined
}

/** The next node in a direction: along an edge to the sides, inside its rank up and down. */
function neighbour(
  layout: Layout,
  { edges }: Folded,
  from: number,
  towards: 'left' | 'right' | 'up' | 'down',
): number | undefined {
  if (from < 0) return layout.count > 0 ? 0 : undefined
  if (towards === 'left')
    return edges.after[edges.offsets[from]!] === undefined ||
      edges.offsets[from] === edges.offsets[from + 1]
      ? undefined
      : edges.after[edges.offsets[from]!]
  if (towards === 'right') {
    const down = reversed(edges)
    return down.offsets[from] === down.offsets[from + 1]
      ? undefined
      : down.after[down.offsets[from]!]
  }
  const wanted = layout.order[from]! + (towards === 'down' ? 1 : -1)
  for (let node = 0; node < layout.count; node++) {
    if (layout.rank[node] === layout.rank[from] && layout.order[node] === wanted) return node
  }
  return undefined
}
