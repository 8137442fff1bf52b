/** One run: head, tabs, the selected moment, and the panel of the selected node. */
import type { ComponentType, JSX, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useCommands, useKeys, type Command } from '../../app/actions.ts'
import { address, go } from '../../app/address.ts'
import { live } from '../../app/live-switch.tsx'
import { rank } from '../../app/match.ts'
import { link } from '../../app/route.ts'
import { nameView } from '../../parts/announce.tsx'
import { useComponent } from '../../parts/component.ts'
import { Empty, Failed, Loading } from '../../parts/placeholders.tsx'
import { isMissing, isRefused } from '../../api/errors.ts'
import { RunHeadLine } from './head.tsx'
import { NodePanel } from './node-panel.tsx'
import { Scrubber } from './scrubber.tsx'
import { TimelineTab } from './timeline-tab.tsx'
import { RunView } from './run-view.ts'

interface Tab {
  readonly name: string
  readonly title: string
  /** Whether the selected moment changes the view. */
  readonly hasTime: boolean
  readonly load: () => Promise<ComponentType<{ readonly view: RunView }>>
}

const tabs: readonly Tab[] = [
  { name: 'timeline', title: 'Timeline', hasTime: true, load: () => Promise.resolve(TimelineTab) },
  {
    name: 'graph',
    title: 'Graph',
    hasTime: true,
    load: async () => (await import('./graph-tab.tsx')).GraphTab,
  },
  {
    name: 'nodes',
    title: 'Nodes',
    hasTime: true,
    load: async () => (await import('./nodes-tab.tsx')).NodesTab,
  },
  {
    name: 'log',
    title: 'Log',
    hasTime: false,
    load: async () => (await import('./log-tab.tsx')).LogTab,
  },
  {
    name: 'compare',
    title: 'Compare',
    hasTime: false,
    load: async () => (await import('./compare-tab.tsx')).CompareTab,
  },
  {
    name: 'what-if',
    title: 'What if',
    hasTime: false,
    load: async () => (await import('./what-if-tab.tsx')).WhatIfTab,
  },
]

export function RunPage({
  id,
  tab: tabName,
}: {
  readonly id: string
  readonly tab: string
}): JSX.Element {
  const [view] = useState(() => new RunView(id))
  // Not after the frame that shows that it loads: the run is asked for at once.
  useLayoutEffect(() => live.follow(view.follow), [view])
  const tab = tabs.find((each) => each.name === tabName) ?? tabs[0]!
  const head = view.store.head.value
  useEffect(() => {
    nameView(head === undefined ? `Run ${id}` : `${head.title} · ${head.outcome}`)
  }, [head?.title, head?.outcome])
  // On a phone the tabs are wider than the screen.
  useEffect(() => {
    document
      .querySelector('.tabs [aria-current]')
      ?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [tab, view.isLoaded.value])
  useRunKeys(id, view)
  const selected = view.selected.value
  const wasInPanel = usePanelFocus(selected)
  const error = view.error.value
  if (head === undefined || !view.isLoaded.value) {
    return (
      <main class="page" id="content" tabIndex={0}>
        {error === undefined ? (
          <Loading />
        ) : isMissing(error) ? (
          <Empty title="There is no such run">
            <p>
              It may have been pruned. <a href={link(['runs'])}>All runs</a>
            </p>
          </Empty>
        ) : (
          <Failed error={error} onRetry={() => live.follow(view.follow)} />
        )}
      </main>
    )
  }
  return (
    <main class="page full run-page" id="content" tabIndex={-1}>
      <RunHeadLine view={view} head={head} />
      <nav class="tabs" aria-label="Views of this run">
        {tabs.map((each) => (
          <a
            key={each.name}
            href={link(['runs', id, each.name], address.value.query)}
            aria-current={each === tab ? 'page' : undefined}
          >
            {each.title}
          </a>
        ))}
      </nav>
      {tab.hasTime && <Scrubber view={view} />}
      {error !== undefined && isRefused(error) && <Failed error={error} />}
      <div
        class={`run-body ${selected === undefined ? '' : 'with-panel'}`}
        onFocusIn={(event) => (wasInPanel.current = isInPanel(event.target))}
      >
        <div class="run-main">
          <TabContent key={tab.name} tab={tab} view={view} />
        </div>
        {selected !== undefined && <NodePanel key={selected} view={view} name={selected} />}
      </div>
    </main>
  )
}

function TabContent({ tab, view }: { readonly tab: Tab; readonly view: RunView }): JSX.Element {
  const { Content, error } = useComponent(tab.load)
  if (tab.name === 'timeline') return <TimelineTab view={view} />
  if (error !== undefined) return <Failed error={error} onRetry={() => location.reload()} />
  return Content === undefined ? <Loading /> : <Content view={view} />
}

function isInPanel(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest('.panel') !== null
}

/**
 * Keeps the place of keyboard users: when the panel that had the focus is closed, the view gets it, and when it
 * makes room for that of another node, that one does.
 */
function usePanelFocus(selected: string | undefined): RefObject<boolean> {
  const wasInside = useRef(false)
  useLayoutEffect(() => {
    if (!wasInside.current || document.activeElement !== document.body) return
    const next = selected === undefined ? '.run-main [tabindex="0"]' : '.panel'
    document.querySelector<HTMLElement>(next)?.focus()
  }, [selected])
  return wasInside
}

function useRunKeys(id: string, view: RunView): void {
  const open = (name: string) => (): void => go(link(['runs', id, name], address.peek().query))
  useKeys(
    [
      ...tabs.map((tab, index) => ({
        keys: String(index + 1),
        label: tab.title,
        group: 'Run',
        run: open(tab.name),
      })),
      { keys: 'Escape', label: 'Close the panel', group: 'Run', run: () => view.select(undefined) },
      {
        keys: 'o',
        label: 'Into the panel of the node',
        group: 'Run',
        run: () => document.querySelector<HTMLElement>('.panel')?.focus(),
      },
      { keys: '[', label: 'Back in time', group: 'Run', run: () => step(view, -1) },
      { keys: ']', label: 'Forward in time', group: 'Run', run: () => step(view, 1) },
      { keys: '=', label: 'To the newest moment', group: 'Run', run: () => view.lookAt(undefined) },
    ],
    [id],
  )
  useCommands(
    (text): readonly Command[] => {
      const { names } = view.store.nodes
      const found = rank(names, text, (name) => name, 30)
      return [
        ...tabs.map((tab) => ({
          id: `tab-${tab.name}`,
          title: `Show ${tab.title.toLowerCase()}`,
          run: open(tab.name),
        })),
        ...found.map(({ item }) => ({
          id: `node-${item}`,
          title: item,
          hint: 'node',
          run: () => view.select(item),
        })),
      ]
    },
    [id],
  )
}

/** A hundredth of the run. */
function step(view: RunView, direction: number): void {
  const to = view.moment + (direction * view.now) / 100
  view.lookAt(to >= view.now ? undefined : Math.max(0, to))
}
