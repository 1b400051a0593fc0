// Keeps the page fresh: fragments come as events and only what differs is touched, so that focus, opened details and
// the place on the page stay. Without this script the page is the same after a reload.
'use strict';

const connection = document.getElementById('connection');
const version = document.documentElement.dataset.version;
const SILENCE_MS_MAX = 7000; // the server says something every two seconds
const RETRY_MS_MAX = 8000;
let source = null;
let heard = 0;
let retryMs = 500;

function say(state, words) {
  if (connection.className !== 'connection ' + state) {
    connection.className = 'connection ' + state;
    connection.textContent = words;
  }
}

// Makes `old` look like `fresh`.
function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
  } else if (old.nodeType !== Node.ELEMENT_NODE) {
    old.data = fresh.data;
  } else {
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    morphChildren(old, fresh);
  }
}

function morphChildren(old, fresh) {
  const before = [...old.childNodes];
  const after = [...fresh.childNodes];
  after.forEach((node, at) => (at < before.length ? morph(before[at], node) : old.append(node)));
  before.slice(after.length).forEach((node) => node.remove());
}

function swap({ target, html }) {
  const place = document.getElementById(target);
  const fresh = document.createElement('template');
  fresh.innerHTML = html;
  if (place) morphChildren(place, fresh.content);
}

function connect() {
  source = new EventSource('/api/v1/events?page=' + encodeURIComponent(location.pathname));
  const alive = () => {
    heard = Date.now();
    retryMs = 500;
    say('live', 'live');
  };
  source.addEventListener('hello', (event) => (event.data === version ? alive() : location.reload()));
  source.addEventListener('beat', alive);
  source.onmessage = (event) => {
    alive();
    swap(JSON.parse(event.data));
  };
  source.onerror = lost;
}

function lost() {
  source.close();
  say('lost', 'connection lost, trying again; what you see is old');
  setTimeout(connect, retryMs);
  retryMs = Math.min(retryMs * 2, RETRY_MS_MAX);
}

setInterval(() => {
  if (source.readyState === EventSource.OPEN && Date.now() - heard > SILENCE_MS_MAX) lost();
}, 1000);

// The figures under the mouse stand in the chart's caption; `title` says the same without a script.
document.addEventListener('mouseover', (event) => {
  const told = event.target.dataset && event.target.dataset.told;
  const chart = event.target.closest && event.target.closest('.chart');
  if (told && chart) chart.querySelector('.readout').textContent = told;
});

connect();
