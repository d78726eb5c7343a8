"""Attribution for language models: fine-tuning, cached gradients, methods and their evaluation.

    attribution → finetune → gradients, cache, projection → methods → rankings → detection, quality
"""
