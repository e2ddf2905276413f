// Says in words why a security key or a passkey could not be used; allauth's own script only writes to the console.
(() => {
  "use strict";
  const words = {
    NotAllowedError: "The key was not used: the question was dismissed, or it took too long. Try again.",
    InvalidStateError: "This key is set up here already.",
    SecurityError: "Keys work where this server has a name and https, or at http://localhost; not at this address.",
    AbortError: "The browser stopped asking for the key. Try again.",
  };

  const wordsFor = (error) => {
    if (!window.isSecureContext || !window.PublicKeyCredential) {
      return words.SecurityError;
    }
    const why = error?.message || "the browser does not say why";
    return words[error?.name] ?? `The key could not be used (${why}). Try again.`;
  };

  document.addEventListener("allauth.error", (event) => {
    event.preventDefault();
    const told = document.getElementById("key-trouble");
    told.textContent = wordsFor(event.detail.exception);
    told.hidden = false;
  });
})();
