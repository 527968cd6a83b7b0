// What the server is doing, for the line in the head of the page; and the dialog for its API key.
import { ApiError, apiKey, getJson, request, setApiKey } from "./api.js";
import { byId, setText } from "./dom.js";

const AWAY_MS = 1500, HERE_MS = 10000;

/** Asks now and then; `ready` is called with the model's entry of /v1/models whenever the server has (again) become ready. */
export function watchServer(ready) {
  const line = byId("status");
  let timer = 0, wasReady = false, hasAsked = false;
  const show = (state, words) => { line.dataset.state = state; setText(line, words); line.title = words; };
  const look = async () => {
    clearTimeout(timer);
    let wait = HERE_MS;
    try {
      await request("/health");
      if (!wasReady) {
        const models = await getJson("/v1/models");
        const model = models.data[0];
        show("ready", model.id);
        wasReady = true;
        ready(model);
      }
    } catch (error) {
      wasReady = false;
      wait = AWAY_MS;
      if (error.code === "loading_model") show("loading", "loading the model");
      else if (error.status === 401) {
        show("away", "needs an API key");
        wait = HERE_MS;
        if (!hasAsked && (hasAsked = true) && await askKey()) wait = 0;
      }
      else if (error.code === "shutting_down") show("away", "shutting down");
      else show("away", error instanceof ApiError && error.status ? error.message : "server not reachable, trying again");
    }
    timer = setTimeout(look, document.hidden ? HERE_MS : wait);
  };
  document.addEventListener("visibilitychange", () => !document.hidden && look());
  look();
  return look;
}

/** Resolves to true when a key was given, false when the reader does not want to. */
export function askKey() {
  const dialog = byId("key-dialog"), input = byId("key-input"), kept = byId("key-kept");
  if (dialog.open) return Promise.resolve(false);
  setText(byId("key-words"), apiKey() ? "The key that is set was not accepted." : "Ask whoever runs it. The key is sent to this server only.");
  input.value = apiKey();
  input.required = !apiKey();
  return new Promise((resolve) => {
    const done = (isSet) => {
      byId("key-form").onsubmit = byId("key-cancel").onclick = dialog.oncancel = null;
      dialog.close();
      resolve(isSet);
    };
    byId("key-form").onsubmit = (event) => { event.preventDefault(); setApiKey(input.value.trim(), kept.checked); done(true); };
    byId("key-cancel").onclick = () => done(false);
    dialog.oncancel = (event) => { event.preventDefault(); done(false); };
    dialog.showModal();
  });
}
